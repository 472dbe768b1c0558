"""Heritrix 3: its own profile for jobs, with the scope open and the testbed's name server.

Needs Java 17 and Heritrix's jars in one directory, named by the variable HERITRIX_LIB:

    mvn -f benchmarks/peers/heritrix.xml dependency:copy-dependencies -DoutputDirectory=DIR

The job is the profile that comes in its jar, changed as `_job` says: it begins by itself, takes any host into its
scope, names a contact, and waits as it is told to. It obeys robots.txt, fetches style sheets and images where pages
name some, and stores WARC files.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from pathlib import Path

from benchmarks.peers import Peer, Task

_PROFILE = "org/archive/crawler/restlet/profile-crawler-beans.cxml"
_JOB = "judged"


def command(task: Task) -> list[str]:
    """Make the job, and say how it is started."""
    jobs = task.folder / "jobs"
    (jobs / _JOB).mkdir(parents=True)
    job = _job(_profile(_lib()), task.seeds.read_text(encoding="utf-8"), task.wait)
    (jobs / _JOB / "crawler-beans.cxml").write_text(job, encoding="utf-8")
    java = ["java", f"-Dheritrix.home={task.folder}", f"-Dheritrix.out={task.folder / 'out.log'}", "-Xmx1g"]
    java += [f"-Ddns.server={task.bed.dns}", "-Djava.protocol.handler.pkgs=org.archive.net"]
    # Its own console must have a port and a password; nobody uses them here.
    java += ["-cp", f"{_lib()}/*", "org.archive.crawler.Heritrix", "-a", "judged:nobody-comes", "-b", "127.0.0.1"]
    return [*java, "-p", "0", "-j", str(jobs), "-r", _JOB]


def _job(profile: str, seeds: str, wait: float) -> str:
    """The profile with what is changed in it; each change must be found, or the profile is another one than we know."""
    delays = "".join(
        f'<property name="{name}" value="{value:.0f}"/>'
        for name, value in (("delayFactor", 0), ("minDelayMs", wait * 1000), ("maxDelayMs", wait * 1000))
    )
    changes = (
        (r"metadata\.operatorContactUrl=\S+", "metadata.operatorContactUrl=http://contact.invalid/"),
        (r"metadata\.jobName=.*", f"metadata.jobName={_JOB}"),
        (
            r'<bean class="org\.archive\.modules\.deciderules\.RejectDecideRule"',
            '<bean class="org.archive.modules.deciderules.AcceptDecideRule"',
        ),
        (r'(<bean id="crawlController"\s+class="[^"]+">)', r'\1<property name="pauseAtStart" value="false"/>'),
        (r'(<bean id="disposition" class="[^"]+">)', rf"\1{delays}"),
        (r'(<prop key="seeds\.textSource\.value">).*?(</prop>)', rf"\1\n{seeds}\2"),
    )
    for old, new in changes:
        profile, times = re.subn(old, new, profile, count=1, flags=re.DOTALL if "seeds" in old else 0)
        if not times:
            raise SystemExit(f"Heritrix's profile has nothing like {old}")
    return profile


def _profile(lib: Path) -> str:
    for jar in lib.glob("heritrix-engine-*.jar"):
        with zipfile.ZipFile(jar) as file:
            return file.read(_PROFILE).decode()
    raise SystemExit(f"no heritrix-engine in {lib}")


def _lib() -> Path:
    return Path(os.environ.get("HERITRIX_LIB", ""))


def _missing() -> str:
    if not shutil.which("java"):
        return "Java"
    return "" if os.environ.get("HERITRIX_LIB") else "its jars: HERITRIX_LIB is not set"


PEER = Peer("heritrix", "DNS", _missing, command)
