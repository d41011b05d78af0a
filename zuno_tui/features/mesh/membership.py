"""Other people's agents on a mesh: invited, joined, admitted and revoked, each by one line."""

import os
import secrets
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from agents.bus.envelope import CLI, Role
from agents.lp import ROLES
from agents.mesh import inviting, layout
from agents.mesh.frame import new_key
from agents.mesh.peers import MEMBER_FILE, Engine, MeshFileError, Peer, read_book, read_member
from chain.base.clean_text import clean_text
from chain.base.home import Home
from chain.base.units import age_text
from zuno_tui.features.mesh.agent import DEFAULT_FOLDER
from zuno_tui.features.mesh.mesh import LOOPBACK, members_folder
from zuno_tui.features.mesh.remote_agents import mesh_folder
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json

_GOOD_FOR = 24 * 3600
"""Seconds that an invitation waits for its answer."""


def run_invite(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    home.prepare()
    folder = mesh_folder(home)
    url = _server(folder, arguments.server)
    if not (folder / MEMBER_FILE).exists():
        # Of the desk alone: whoever is not invited is played in the desk's own process.
        desk = (layout.PlannedMember(layout.DESK, CLI),)
        name = f"zuno-{secrets.token_hex(4)}"
        layout.lay_out(layout.MeshPlan(name, Engine.NATS, desk, 0, url), {layout.DESK: folder})
    owner = clean_text(arguments.owner or "", limit=32)
    invited = inviting.Invited(
        name=arguments.name or arguments.role,
        role=arguments.role,
        owner=owner or f"owner of {arguments.name or arguments.role}",
        secret=secrets.token_hex(16),
        until=int(time.time()) + _GOOD_FOR,
        url=url,
    )
    code = inviting.invite(folder, invited)
    password = " It holds the server's password." if urlsplit(url).password else ""
    line = f"zuno mesh join {code}"
    lines = (
        f"{invited.name} is invited as {invited.role}, for {age_text(_GOOD_FOR)}.",
        "",
        f"1. Send them this line, privately: whoever has it can answer in their place.{password}",
        line,
        "2. Theirs prints a line that begins with: zuno mesh admit. Type that one here.",
    )
    told: Json = {**parts(invited, "name", "role", "until"), "line": line}
    return print_answer(CommandAnswer(lines, told, code=DONE), as_json=bool(arguments.json))


def _server(folder: Path, named: str | None) -> str:
    """As the other machine reaches it."""
    url = named
    if (folder / MEMBER_FILE).exists():
        member = read_member(folder)
        if member.engine is not Engine.NATS:
            raise MeshFileError(
                "This mesh is over AXL, where every node must know the others beforehand. "
                "Invitations need NATS: zuno mesh init --engine nats"
            )
        if named is None and urlsplit(member.url).hostname in LOOPBACK:
            raise MeshFileError(
                "The mesh's server is on this machine, at an address that only it reaches. Say how "
                "theirs reaches it: --server nats://HOST:4222"
            )
        url = named or member.url
    if url is None:
        raise MeshFileError(
            "There is no mesh yet. Name a NATS server that both machines reach: "
            "--server nats://HOST:4222"
        )
    if urlsplit(url).scheme not in ("nats", "tls"):
        raise MeshFileError(f"{url!r} is no NATS server. Write it like: nats://HOST:4222")
    return url


def run_join(arguments: Namespace) -> int:
    invitation = inviting.read_invitation(arguments.code, now=time.time())
    invited = invitation.invited
    if invited.role not in ROLES:
        raise MeshFileError("This invitation is for no part of a debate. Ask for a new one.")
    chosen: Path | None = arguments.dir
    folder = (chosen or Path.home() / DEFAULT_FOLDER / invited.name).expanduser().absolute()
    own = Home.locate(os.environ, arguments.home).root
    if folder.is_relative_to(own):
        raise MeshFileError(
            f"{folder} is inside a desk's home, which no agent may see. Name another: --dir DIR"
        )
    key = new_key()
    line = f"zuno mesh admit {inviting.join(folder, invitation, key)}"
    compared = inviting.fingerprint(invitation, key.name)
    server = clean_text(urlsplit(invited.url).hostname or "")
    lines = (
        f"You play {invited.role} on their mesh, by the server at {server}. "
        f"Your key is in {folder}.",
        "",
        "1. Send this line back:",
        line,
        f"2. Compare with them, by voice: {compared}",
        f"3. Name an endpoint, and a model if you want one, in {folder / layout.SETTINGS_FILE}",
        f"4. Start it: zuno agent {invited.role} --home {folder}",
    )
    told: Json = {
        **parts(invited, "name", "role"),
        "folder": str(folder),
        "fingerprint": compared,
        "line": line,
    }
    return print_answer(CommandAnswer(lines, told, code=DONE), as_json=bool(arguments.json))


def run_admit(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    folder = mesh_folder(home)
    peer, compared = inviting.read_answer(folder, arguments.code, now=time.time())
    same = _letters(arguments.same or "") == _letters(compared)
    if arguments.same and not same:
        raise MeshFileError(
            f"{clean_text(arguments.same)} is not {compared}: somebody stands between you, or it "
            "was mistyped. Nobody was admitted."
        )
    if same:
        members = _members_here(home)
        inviting.admit(folder, members, peer)
        lines = [
            f"{_words(peer)} is admitted as {peer.role}, and speaks as that alone.",
            *_elsewhere(folder, members, but=peer.name),
            f"See whether it answers: zuno mesh. Take it back: zuno mesh revoke {peer.name}",
        ]
    else:
        lines = [
            f"{_words(peer)} answers the invitation, as {peer.role}.",
            f"Compare with what their screen shows, by voice: {compared}",
            "If it is the same, type your line again with --same and what they read out.",
            "Nobody is admitted yet.",
        ]
    told: Json = {**document(peer), "fingerprint": compared, "admitted": same}
    return print_answer(CommandAnswer(tuple(lines), told, code=DONE), as_json=bool(arguments.json))


def run_revoke(arguments: Namespace) -> int:
    home = Home.locate(os.environ, arguments.home)
    folder, members = mesh_folder(home), _members_here(home)
    peer = inviting.revoke(folder, members, arguments.name)
    lines = (
        f"{_words(peer)} is off the mesh: nothing it says is heard here any more.",
        *_elsewhere(folder, members),
        f"Until it is invited again, {peer.role} is played in the desk's own process."
        if not read_book(folder).of_role(Role(peer.role))
        else f"Another plays {peer.role}.",
    )
    return print_answer(
        CommandAnswer(lines, document(peer), code=DONE), as_json=bool(arguments.json)
    )


def _members_here(home: Home) -> tuple[Path, ...]:
    """The folders of those who run on this machine: they read the peer file anew by themselves."""
    place = members_folder(home, None)
    names = (peer.name for peer in read_book(mesh_folder(home)).peers if peer.role != CLI)
    return tuple(place / name for name in names if (place / name / MEMBER_FILE).exists())


def _elsewhere(folder: Path, here: Sequence[Path], *, but: str = "") -> tuple[str, ...]:
    there = [
        peer.name
        for peer in read_book(folder).peers
        if peer.role != CLI and peer.name != but and peer.name not in {each.name for each in here}
    ]
    if not there:
        return ()
    return (f"Copy {folder / 'peers.json'} to the folders of: {', '.join(there)}",)


def _words(peer: Peer) -> str:
    return f"{peer.name} ({clean_text(peer.owner, limit=32)})"


def _letters(text: str) -> str:
    return "".join(letter for letter in text.upper() if letter.isalnum())
