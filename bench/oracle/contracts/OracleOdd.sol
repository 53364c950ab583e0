// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.26;

/// A token as odd as they come: its symbol is 32 bytes, it has no name, its decimals are whatever it was made with,
/// and anybody may change anybody's balance, as a rebasing token does by itself.
contract OracleOdd {
    bytes32 public constant symbol = "ODD";
    uint256 public immutable decimals;
    mapping(address => uint256) public balanceOf;

    constructor(uint256 dec) {
        decimals = dec;
    }

    function set(address who, uint256 v) external {
        balanceOf[who] = v;
    }

    function transfer(address to, uint256 v) external returns (bool) {
        balanceOf[msg.sender] -= v;
        balanceOf[to] += v;
        return true;
    }
}
