"""`weft completion`: a script that lets a shell complete commands and options."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell it is for.")],
    /,
) -> None:
    """Print a script that has a shell complete commands and options.

    For example:

        weft completion bash > ~/.local/share/bash-completion/completions/weft

        weft completion zsh > ~/.zfunc/_weft

        weft completion fish > ~/.config/fish/completions/weft.fish
    """
    from weft.cli import app

    print(app.generate_completion(shell=shell))
