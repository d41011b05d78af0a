"""The monitor as a service: its unit for systemd or launchd, installed, checked, and its health."""

import plistlib
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agents.monitor.heartbeat import current_holder, last_beat
from chain.base.home import Home
from chain.base.own_program import own_program
from chain.base.store import Store, StoreError
from chain.base.units import age_text
from zuno_tui.app.feature import carried_out_by
from zuno_tui.app.session import say
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import print_json_line, print_lines

WATCHDOG_SECONDS = 120
ALLOCATOR = "MALLOC_ARENA_MAX=1"
"""What one thread read and gave back the next one uses again: a tenth less memory."""
CREDENTIAL = "zuno-watch-key"
"""By which the watch key's passphrase is handed over."""

_FOR_A_PERSON = """\
# For one person: ~/.config/systemd/user/zuno-monitor.service, then
#   systemctl --user enable --now zuno-monitor
#   loginctl enable-linger      # so that it goes on when you log out
"""
_FOR_A_SERVER = """\
# For a server, as a user of its own: /etc/systemd/system/zuno-monitor.service, then
#   sudo useradd --system --home-dir {home} zuno
#   sudo install -d -m 700 -o zuno {home}
#   sudo -u zuno cp settings.toml {home}/ && sudo systemctl enable --now zuno-monitor
# No wallet's key belongs into that home. With a watch key (zuno wallet watch-key) it carries out
# orders. Put the key's passphrase into {home}/watch-key.passphrase, or into watch-key.cred by
# systemd-creds encrypt, and print this unit again: systemd hands it over.
"""
_HARDENED = """\
User=zuno
ReadWritePaths={home}
BindReadOnlyPaths={prefix}
AmbientCapabilities=
CapabilityBoundingSet=
DevicePolicy=closed
PrivateDevices=yes
PrivateMounts=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=tmpfs
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
"""
_UNIT = """\
{head}# Tokens belong into monitor.env in zuno's home (chmod 600), not into this file.

[Unit]
Description=zuno watches liquidity positions and sends alerts
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Environment={allocator}
EnvironmentFile=-{environment}
Restart=always
RestartSec=5
WatchdogSec={watchdog}
TimeoutStartSec=60
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
{credential}{hardening}
[Install]
WantedBy={target}
"""


def unit_text(home: Path, options: Sequence[str] = (), *, server: bool = False) -> str:
    """For one person; with `server` for the machine, as a user of its own."""
    command = _command(home, options)
    place = _unit_path(home)
    return _UNIT.format(
        head=(_FOR_A_SERVER if server else _FOR_A_PERSON).format(home=place),
        command=" ".join(_quoted(word) for word in command),
        allocator=ALLOCATOR,
        environment=_specifiers(str(home / "monitor.env")),
        watchdog=WATCHDOG_SECONDS,
        credential=_credential(home),
        hardening=_HARDENED.format(home=place, prefix=_programs()) if server else "",
        target="multi-user.target" if server else "default.target",
    )


def _credential(home: Path) -> str:
    """What opens the watch key, where it lies in the home: encrypted for this machine, or plain."""
    for ending, line in ((".cred", "LoadCredentialEncrypted"), (".passphrase", "LoadCredential")):
        path = home / f"watch-key{ending}"
        if path.is_file():
            return f"{line}={CREDENTIAL}:{_specifiers(str(path))}\n"
    return ""


def _programs() -> str:
    """Where the program is, and the interpreter that its environment was made of: either may lie
    in a home, which the service sees none of."""
    return " ".join(map(_unit_path, dict.fromkeys((sys.prefix, sys.base_prefix))))


def _unit_path(path: Path | str) -> str:
    """In a list of paths a space would begin another."""
    return _specifiers(str(path)).replace(" ", "\\x20")


def _quoted(word: str) -> str:
    """One argument as systemd reads it, whatever characters it has."""
    escaped = _specifiers(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if any(char in word for char in " \t\"'\\;") else escaped


def _specifiers(text: str) -> str:
    return text.replace("%", "%%")


SERVER_HOME = Path("/var/lib/zuno")
_UNIT_NAME = "zuno-monitor.service"
_SYSTEM_UNITS = Path("/etc/systemd/system")
_AGENT = "org.zuno.monitor"


class ServiceCheck(NamedTuple):
    well: bool
    about: str
    words: str
    """What to do, where it is not well."""


def unit_path(environment: Mapping[str, str], *, server: bool) -> Path:
    if server:
        return _SYSTEM_UNITS / _UNIT_NAME
    own = environment.get("HOME", "~")
    if sys.platform == "darwin":
        return Path(own) / "Library" / "LaunchAgents" / f"{_AGENT}.plist"
    settings = environment.get("XDG_CONFIG_HOME") or f"{own}/.config"
    return Path(settings) / "systemd" / "user" / _UNIT_NAME


def launchd_text(home: Path, options: Sequence[str] = ()) -> str:
    """For macOS: started at log-in, again whenever it ends."""
    return plistlib.dumps(
        {
            "Label": _AGENT,
            "ProgramArguments": _command(home, options),
            "RunAtLoad": True,
            "KeepAlive": True,
            "ProcessType": "Background",
            "Umask": 0o77,
            "StandardErrorPath": str(home / "monitor.log"),
        }
    ).decode()


def install(
    home: Path, options: Sequence[str], environment: Mapping[str, str], *, server: bool
) -> int:
    """Write the unit and say what it may do and what to type next; nothing is started by it."""
    path = unit_path(environment, server=server)
    mac = path.suffix == ".plist"
    text = launchd_text(home, options) if mac else unit_text(home, options, server=server)
    same = path.is_file() and path.read_text("utf-8") == text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        print_lines(
            (
                f"{path} cannot be written: {error.strerror}. As the administrator:",
                f"  zuno monitor --systemd-unit --server | sudo tee {path}",
            )
        )
        return FAILED
    print_lines((f"{'It is there already' if same else 'Written'}: {path}", *_next(path, server)))
    return DONE


def _next(path: Path, server: bool) -> Iterator[str]:
    if path.suffix == ".plist":
        yield f"Start it: launchctl load -w {path}"
        yield f"End it: launchctl unload -w {path}"
        return
    scope = "sudo systemctl" if server else "systemctl --user"
    yield f"Start it: {scope} daemon-reload && {scope} enable --now zuno-monitor"
    if not server:
        yield "So that it goes on when you log out: loginctl enable-linger"
    yield f"See it: {scope} status zuno-monitor, zuno monitor --check, zuno alerts"
    yield f"End it: {scope} disable --now zuno-monitor"
    yield (
        "It may read the network and write into zuno's home. It holds no wallet's key; with a "
        "watch key it carries out the orders that you signed."
    )


def check(home: Home, environment: Mapping[str, str], now: float, *, server: bool) -> int:
    """What of the service is not as it should be, and what to do about each."""
    findings = tuple(_findings(home, environment, now, server=server))
    print_lines(f"{'✓' if each.well else '✗'} {each.about:<9} {each.words}" for each in findings)
    return DONE if all(each.well for each in findings) else FAILED


def _findings(
    home: Home, environment: Mapping[str, str], now: float, *, server: bool
) -> Iterator[ServiceCheck]:
    path = unit_path(environment, server=server)
    again = "zuno monitor --install" + " --server" * server
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    if not text:
        yield ServiceCheck(False, "unit", f"there is none at {path}: {again}")
    elif sys.executable not in text:
        yield ServiceCheck(
            False, "program", f"{path} starts a different zuno than this one: {again}"
        )
    else:
        yield ServiceCheck(True, "unit", str(path))
    yield from _started(path, server=server)
    yield _private(home.root, "home", "there is none yet: zuno init")
    yield _private(home.root / "monitor.env", "tokens", "none for Telegram or a webhook")
    yield _living(home, now)
    if carried := carried_out_by(home):
        yield ServiceCheck(True, "orders", carried)


def _started(path: Path, *, server: bool) -> Iterator[ServiceCheck]:
    """As systemd or launchd says; nothing where neither answers here."""
    if path.suffix == ".plist":
        words = ["launchctl", "list", _AGENT]
    else:
        words = ["systemctl", *(() if server else ("--user",)), "is-active", "zuno-monitor"]
    if shutil.which(words[0]) is None:
        yield ServiceCheck(False, "service", f"{words[0]} is not installed here; run zuno monitor")
        return
    asked = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    said = (asked.stdout or asked.stderr).strip().splitlines()
    state = said[0] if said else "unknown"
    started = asked.returncode == 0
    yield ServiceCheck(
        started, "service", state if started else f"{state}. {next(_next(path, server))}"
    )


def _private(path: Path, about: str, absent: str) -> ServiceCheck:
    if not path.exists():
        return ServiceCheck(True, about, absent)
    mode = "700" if path.is_dir() else "600"
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return ServiceCheck(False, about, f"{path} can be read by others: chmod {mode} {path}")
    return ServiceCheck(True, about, str(path))


def _living(home: Home, now: float) -> ServiceCheck:
    path = home.root / "zuno.db"
    holder = current_holder(home.monitor_lock) if path.is_file() else None
    if holder is None:
        return ServiceCheck(False, "watch", "nothing watches this home now. Start: zuno monitor")
    try:
        store, _ = Store.open(path, now=now)
    except StoreError as error:
        return ServiceCheck(False, "watch", str(error))
    with store:
        beat = last_beat(store)
    who = f"process {holder.pid} on {holder.host}"
    if beat is None:
        return ServiceCheck(False, "watch", f"{who} has not checked yet")
    seen = f"{who} looked {age_text(round(beat.age(now)))} ago"
    if beat.overdue(now):
        return ServiceCheck(False, "watch", f"{seen}, which is too long: see its log")
    blind = [sight.network for sight in beat.sights if sight.block is None]
    if beat.trouble or blind:
        why = beat.trouble or f"it cannot read {', '.join(dict.fromkeys(blind))}"
        return ServiceCheck(False, "watch", f"{seen}: {why}")
    return ServiceCheck(True, "watch", seen)


def health(home: Home, now: float, *, as_json: bool) -> int:
    """For a container or another watcher: whether somebody watches, and sees everything."""
    found, carried = _living(home, now), carried_out_by(home)
    if as_json:
        print_json_line({"well": found.well, "words": found.words, "orders": carried})
    else:
        say(f"{found.words}. {carried}" if carried else found.words)
    return DONE if found.well else FAILED


def _command(home: Path, options: Sequence[str]) -> list[str]:
    """This very zuno, wherever it is installed."""
    return own_program("zuno_tui", "monitor", "--home", str(home), *options)
