"""Malformed HTML: pages with one thing wrong each, and behind it a link, which stands here as LINK."""

from __future__ import annotations

_A = b"<a href='LINK'>x</a>"

MALFORMED: tuple[bytes, ...] = (
    b"<html><body><p>no end tags<div><span><b>" + _A,
    b"<html><body></p></div></span></body></html>" + _A,
    b"<b><i><u>" * 400 + _A,
    b"<div>" * 5_000 + _A,
    b"<p>a < b and c > d & e &amp f &notanentity; &#x110000; &#0; &#xD800;</p>" + _A,
    b"<a href=LINK class=x\"y'z>unquoted</a>",
    b"<a href='LINK>not closed</a><p title='>",
    b"<a href=\"LINK\" href='/elsewhere'>twice</a>",
    b"<a\nhref\n=\n'LINK'\n>over lines</a\n>",
    b"<A HREF='LINK' HREF>capitals</A>",
    b"<!-- a comment -- that > never ends --!>" + _A,
    b"<!--><p>a comment that is none</p>" + _A,
    b"<title>no end <b>" + _A + b"</title>" + _A,
    b"<script>if (a < b) document.write('</scr' + 'ipt>')</script>" + _A,
    b"<style>a { content: '</p>' }</style><noscript>" + _A + b"</noscript>",
    b"<table><tr><td>" + _A + b"<table><form><tr></form><p></table>",
    b"<frameset><frame src='LINK'></frameset><body>" + _A,
    b"<?xml version='1.0'?><!DOCTYPE><html xmlns='x'><body/><body>" + _A,
    b"<![CDATA[ <p> ]]>" + _A,
    b"<select><option>" + _A + b"</select><textarea>" + b"</textarea>" + _A,
    b"<svg><title><a href='LINK'>y</a></svg><math><mi>" + _A,
    b"<base href='http://[bad/'><base>" + _A,
    b"<meta charset='x' charset=utf-16><p>\xff\xfe\xc3(\xa0\xa1</p>" + _A,
    b"</html>\n\n<!DOCTYPE html><html><body>" + _A,
    b"<a href=' \t\n LINK \r\n'>blanks</a>",
    b"<a href='LINK#a#b#c'>fragments</a><a href=''>empty</a><a>none</a>",
    b"<%= erb %><?php echo 1 ?>{{ handlebars }}" + _A,
    b"plain text, and then " + _A,
)
"""What authors and generators write: open and misnested tags, attributes and comments without an end, and so on."""
