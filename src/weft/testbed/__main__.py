"""The child process of `weft.testbed.bed`."""

from weft.testbed.bed import child_main

child_main()
