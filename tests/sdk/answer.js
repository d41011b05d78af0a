// Answers questions with Uniswap's own arithmetic, one line each: `name argument argument …`.
// Reads file descriptor 0 and writes 1 synchronously: both are meant to be files.
'use strict'

const fs = require('fs')
const JSBI = require('jsbi')
const sdk = require('@uniswap/v3-sdk')

const big = (text) => JSBI.BigInt(text)
const hex = (value) => value.toString(16)

const answers = {
  sqrtPriceAtTick: (tick) => hex(sdk.TickMath.getSqrtRatioAtTick(Number(tick))),
  tickAtSqrtPrice: (price) => String(sdk.TickMath.getTickAtSqrtRatio(big(price))),
  nearestUsableTick: (tick, spacing) => String(sdk.nearestUsableTick(Number(tick), Number(spacing)) + 0),
  amount0Delta: (a, b, liquidity, up) =>
    hex(sdk.SqrtPriceMath.getAmount0Delta(big(a), big(b), big(liquidity), up === '1')),
  amount1Delta: (a, b, liquidity, up) =>
    hex(sdk.SqrtPriceMath.getAmount1Delta(big(a), big(b), big(liquidity), up === '1')),
  priceFromInput: (price, liquidity, amount, zeroForOne) =>
    hex(sdk.SqrtPriceMath.getNextSqrtPriceFromInput(big(price), big(liquidity), big(amount), zeroForOne === '1')),
  priceFromOutput: (price, liquidity, amount, zeroForOne) =>
    hex(sdk.SqrtPriceMath.getNextSqrtPriceFromOutput(big(price), big(liquidity), big(amount), zeroForOne === '1')),
  liquidityForAmounts: (price, lower, upper, amount0, amount1) =>
    hex(sdk.maxLiquidityForAmounts(big(price), big(lower), big(upper), big(amount0), big(amount1), false)),
  // The SDK speaks v3, where spending is positive; v4 counts it negative.
  swapStep: (price, target, liquidity, spend, amount, fee) =>
    sdk.SwapMath.computeSwapStep(
      big(price),
      big(target),
      big(liquidity),
      spend === '1' ? big(amount) : JSBI.unaryMinus(big(amount)),
      Number(fee)
    )
      .map(hex)
      .join(' '),
  feeGrowthInside: (tick, lower, upper, whole, outsideLower, outsideUpper) =>
    hex(
      sdk.TickLibrary.getFeeGrowthInside(
        { feeGrowthOutside0X128: big(outsideLower), feeGrowthOutside1X128: big('0') },
        { feeGrowthOutside0X128: big(outsideUpper), feeGrowthOutside1X128: big('0') },
        Number(lower),
        Number(upper),
        Number(tick),
        big(whole),
        big('0')
      )[0]
    ),
  feesOwed: (now, last, liquidity) =>
    hex(sdk.PositionLibrary.getTokensOwed(big(last), big('0'), big(liquidity), big(now), big('0'))[0]),
}

function answer(line) {
  const [name, ...words] = line.split(' ')
  try {
    return answers[name](...words)
  } catch (error) {
    if (String(error.message).startsWith('Invariant failed')) return 'refused'
    throw error
  }
}

const chunk = Buffer.alloc(1 << 16)
let rest = ''
for (;;) {
  const length = fs.readSync(0, chunk)
  if (length === 0) break
  const lines = (rest + chunk.toString('latin1', 0, length)).split('\n')
  rest = lines.pop()
  if (lines.length) fs.writeSync(1, lines.map(answer).join('\n') + '\n')
}
