import pytest

from tests.sdk import reference


@pytest.fixture(scope="session")
def sdk() -> reference.Sdk:
    try:
        return reference.installed()
    except reference.NodeMissingError as missing:
        pytest.skip(str(missing))
