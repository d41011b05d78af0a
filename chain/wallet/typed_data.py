"""What is signed without being sent: hashes for devices, words for programs that hold keys."""

from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.signed_delegation import SignedDelegation, domain_hash
from chain.rpc.records import Json
from chain.wallet.key_holder import TypedData


def delegation_data(delegation: SignedDelegation, chain_id: int) -> TypedData:
    named = [("address", "delegate"), ("address", "delegator"), ("bytes32", "authority")]
    named += [("Caveat[]", "caveats"), ("uint256", "salt")]
    document: dict[str, Json] = {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Delegation": [{"name": name, "type": kind} for kind, name in named],
            "Caveat": [
                {"name": "enforcer", "type": "address"},
                {"name": "terms", "type": "bytes"},
            ],
        },
        "primaryType": "Delegation",
        "domain": {
            "name": "DelegationManager",
            "version": "1",
            "chainId": chain_id,
            "verifyingContract": DELEGATION_MANAGER,
        },
        "message": {
            "delegate": delegation.delegate,
            "delegator": delegation.delegator,
            "authority": f"0x{delegation.authority.hex()}",
            "caveats": [
                {"enforcer": enforcer, "terms": f"0x{terms.hex()}"}
                for enforcer, terms in delegation.caveats
            ],
            "salt": str(delegation.salt),
        },
    }
    return TypedData(domain_hash(chain_id), delegation.hash, document)
