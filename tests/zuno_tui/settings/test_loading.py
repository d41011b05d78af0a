from pathlib import Path

import pytest

from chain.contracts.networks import network_named
from chain.rpc.requests import RequestLimits
from zuno_tui.settings import Flags, Settings, SettingsError, load_settings

WALLET = "0x" + "Ab" * 20


def _load(path: Path, text: str = "", flags: Flags | None = None, **environment: str) -> Settings:
    file = path / "settings.toml"
    if text:
        file.write_text(text)
    return load_settings(file, environment, flags or Flags())


def test_flags_beat_the_environment_and_the_environment_the_file(tmp_path: Path) -> None:
    text = f'network = "base"\naddress = "{WALLET}"\n'

    assert _load(tmp_path, text).network == "base"
    assert _load(tmp_path, text, ZUNO_NETWORK="optimism").network == "optimism"
    flags = Flags(network="unichain")
    assert _load(tmp_path, text, flags, ZUNO_NETWORK="optimism").network == "unichain"


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    assert _load(tmp_path) == Settings()


def test_an_address_is_kept_in_lower_case(tmp_path: Path) -> None:
    assert _load(tmp_path, ZUNO_ADDRESS=WALLET).address == WALLET.lower()


def test_a_socket_announces_blocks_and_the_others_are_read_through(tmp_path: Path) -> None:
    base = network_named("base")
    settings = _load(tmp_path, '[rpc]\nbase = ["wss://one/key", "https://two", "ws://three"]\n')

    assert settings.endpoints_for(base) == ("https://two",)
    assert settings.sockets_for(base) == ("wss://one/key", "ws://three")


@pytest.mark.parametrize("text", ['[rpc]\nbase = "wss://one"\n', '[send]\nbase = "wss://one"\n'])
def test_a_socket_alone_reads_and_sends_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="https://"):
        _load(tmp_path, text)


def test_an_endpoint_for_this_run_belongs_to_the_network_of_this_run(tmp_path: Path) -> None:
    text = '[rpc]\nbase = "http://one"\nethereum = ["http://two", "http://three"]\n'
    settings = _load(tmp_path, text, Flags(network="base", rpc="http://flag,http://second"))

    assert settings.endpoints["base"] == ("http://flag", "http://second")
    assert settings.endpoints["ethereum"] == ("http://two", "http://three")


def test_an_endpoint_for_sends_is_one_by_network_or_the_environments(tmp_path: Path) -> None:
    text = '[send]\nbase = "https://private/KEY"\n'
    base, ethereum = network_named("base"), network_named("ethereum")

    written = _load(tmp_path, text)
    flags = Flags(network="base")
    given = _load(tmp_path, text, flags, ZUNO_SEND_RPC="https://other", ZUNO_RPC="https://reads")

    assert written.send_endpoint_for(base) == "https://private/KEY"
    assert written.send_endpoint_for(ethereum) is None
    assert given.send_endpoint_for(base) == "https://other"
    assert given.endpoints_for(base) == ("https://reads",)
    assert "KEY" not in repr(written)


def test_the_file_holds_addresses_and_no_names(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="zuno wallet import"):
        _load(tmp_path, 'address = "alice.eth"\n')


def test_secrets_in_urls_and_keys_are_in_no_repr(tmp_path: Path) -> None:
    text = '[rpc]\nbase = "https://host/v2/CANARY"\n[coingecko]\nkey = "CANARY"\n'

    assert "CANARY" not in repr(_load(tmp_path, text))
    assert "CANARY" not in repr(Flags(rpc="https://host/v2/CANARY"))
    with pytest.raises(SettingsError) as refused:
        _load(tmp_path, '[rpc]\nbase = "wss://host/CANARY"\n')
    assert "CANARY" not in str(refused.value)


def test_how_long_endpoints_are_waited_for_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[limits]\nanswer_seconds = 30\n")
    usual, patient = RequestLimits(), load_settings(path, {}, Flags()).request_limits
    assert load_settings(tmp_path / "none.toml", {}, Flags()).request_limits == usual
    assert (patient.answer_seconds, patient.total_seconds) == (30, 31)
    assert patient.connect_seconds > usual.connect_seconds
    told = {"ZUNO_ANSWER_SECONDS": "45"}
    assert load_settings(path, told, Flags()).request_limits.answer_seconds == 45
    with pytest.raises(SettingsError, match=r"ZUNO_ANSWER_SECONDS.*from 1 to 600 seconds"):
        load_settings(path, {"ZUNO_ANSWER_SECONDS": "soon"}, Flags())
