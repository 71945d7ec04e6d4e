"""`mullion down --all`: remove every stack that this clone has built."""

import sys

from operations.commands import up_and_down
from operations.console.exits import Exit, Stop
from operations.stacks import account, target


def down_all(*, sandbox: bool, yes: bool) -> None:
    """Remove the stacks built in the sandbox, or those built in real accounts.

    For the sandbox, ask once; for real accounts, ask for each stack. If a stack cannot be removed, continue with the
    next. Raises Stop with the names of the stacks that are left.
    """
    names = target.built(sandbox=sandbox)
    where = "in the sandbox" if sandbox else "in a real account"
    if not names:
        print(f"no stack of this clone is built {where}")
        if elsewhere := target.built(sandbox=not sandbox):
            place, flag = ("real accounts", "") if sandbox else ("the sandbox", " --sandbox")
            print(f"Built in {place}: {', '.join(elsewhere)}. To remove them: mullion down --all{flag}")
        return
    print(f"Stacks built {where}: {', '.join(names)}")
    if sandbox and not yes:
        account.confirm(f"This removes {len(names)} {'stack' if len(names) == 1 else 'stacks'} from the sandbox.")
    left: dict[str, Exit] = {}
    for name in names:
        print(f"\n{name}:", flush=True)
        try:
            up_and_down.down(name, sandbox=sandbox, yes=yes, confirmed=None)
        except Stop as stop:
            if stop.code is Exit.INTERRUPTED:
                raise
            print(f"mullion: {stop}", file=sys.stderr)
            left[name] = stop.code
    if left:
        raise Stop(max(left.values()), f"not removed: {', '.join(left)}")
