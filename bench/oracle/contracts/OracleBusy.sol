// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.26;

import "./OracleRouter.sol";

/// A hook that does in its callbacks what a router does, with positions of its own, in the pool that calls it or in another.
/// hookData = abi.encode(Plan); empty hookData: does nothing. Its own operations call no hook again.
/// Its code is placed (not deployed) at addresses whose low bits carry the wanted permissions.
contract OracleBusy is Payer {
    struct Plan {
        uint16 when; // the callbacks that act, as bits: those of the permissions
        Op[] ops;
        int128 delta0; // returned where the permissions allow it: positive = kept from the caller, negative = given
        int128 delta1;
        uint24 fee; // returned by beforeSwap
    }

    IManager public manager;
    bytes public opening; // abi.encode(Op[]): what afterInitialize does

    function init(IManager m) external {
        require(address(manager) == address(0));
        manager = m;
    }

    function open(bytes calldata ops) external {
        opening = ops;
    }

    function unlockCallback(bytes calldata data) external returns (bytes memory) {
        require(msg.sender == address(manager));
        _run(manager, abi.decode(data, (Op[])));
        return "";
    }

    function _act(uint16 when, bytes calldata h) private returns (Plan memory p) {
        if (h.length == 0) return p;
        Plan memory plan = abi.decode(h, (Plan));
        if (plan.when & when == 0) return p;
        _run(manager, plan.ops);
        return plan;
    }

    function _allowed(uint16 bit) private view returns (bool) {
        return uint160(address(this)) & bit != 0;
    }

    function beforeInitialize(address, Key calldata, uint160) external pure returns (bytes4) {
        return this.beforeInitialize.selector;
    }

    function afterInitialize(address, Key calldata, uint160, int24) external returns (bytes4) {
        if (opening.length > 0) manager.unlock(opening);
        return this.afterInitialize.selector;
    }

    function beforeAddLiquidity(address, Key calldata, LiqArgs calldata, bytes calldata h) external returns (bytes4) {
        _act(1 << 11, h);
        return this.beforeAddLiquidity.selector;
    }

    function beforeRemoveLiquidity(address, Key calldata, LiqArgs calldata, bytes calldata h)
        external
        returns (bytes4)
    {
        _act(1 << 9, h);
        return this.beforeRemoveLiquidity.selector;
    }

    function afterAddLiquidity(address, Key calldata k, LiqArgs calldata, int256, int256, bytes calldata h)
        external
        returns (bytes4, int256)
    {
        return (this.afterAddLiquidity.selector, _keep(k, _act(1 << 10, h), 1 << 1));
    }

    function afterRemoveLiquidity(address, Key calldata k, LiqArgs calldata, int256, int256, bytes calldata h)
        external
        returns (bytes4, int256)
    {
        return (this.afterRemoveLiquidity.selector, _keep(k, _act(1 << 8, h), 1 << 0));
    }

    function _keep(Key calldata k, Plan memory p, uint16 bit) private returns (int256 d) {
        if (!_allowed(bit)) return 0;
        d = int256(p.delta0) << 128 | int256(uint256(uint128(p.delta1)));
        _clearBoth(manager, k, d);
    }

    function beforeSwap(address, Key calldata k, SwapArgs calldata s, bytes calldata h)
        external
        returns (bytes4, int256 d, uint24)
    {
        Plan memory p = _act(1 << 7, h);
        if (_allowed(1 << 3)) {
            _clear(manager, (s.amountSpecified < 0) == s.zeroForOne ? k.currency0 : k.currency1, p.delta0);
            d = int256(p.delta0) << 128;
        }
        return (this.beforeSwap.selector, d, p.fee);
    }

    function afterSwap(address, Key calldata k, SwapArgs calldata s, int256, bytes calldata h)
        external
        returns (bytes4, int128 d)
    {
        Plan memory p = _act(1 << 6, h);
        if (_allowed(1 << 2)) {
            d = p.delta1;
            _clear(manager, (s.amountSpecified < 0) == s.zeroForOne ? k.currency1 : k.currency0, d);
        }
        return (this.afterSwap.selector, d);
    }

    function beforeDonate(address, Key calldata, uint256, uint256, bytes calldata h) external returns (bytes4) {
        _act(1 << 5, h);
        return this.beforeDonate.selector;
    }

    function afterDonate(address, Key calldata, uint256, uint256, bytes calldata h) external returns (bytes4) {
        _act(1 << 4, h);
        return this.afterDonate.selector;
    }
}
