extension FixedWidthInteger {
  /// Returns the digits, with leading zeros up to a width, in lower case. A longer number is not cut, and a sign comes
  /// before the zeros.
  @_spi(Toolkit) public func digits(_ width: Int, radix: Int = 10) -> String {
    let digits = String(magnitude, radix: radix)
    let zeros = String(repeating: "0", count: Swift.max(0, width - digits.utf8.count))
    return (self < 0 ? "-" : "") + zeros + digits
  }
}
