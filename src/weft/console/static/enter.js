// A link with a token need not be confirmed by hand. The token leaves the address bar, and is used up by this.
"use strict";
const form = document.getElementById("enter");
if (form.elements.token.value) {
  history.replaceState(null, "", location.pathname);
  form.requestSubmit();
}
