extension String {
  /// Returns the text with each occurrence of a scalar replaced, for example to escape a quotation mark.
  ///
  /// A combining mark after it makes one `Character` of both, which `replacing(_:with:)` does not find, but a program
  /// that reads bytes does.
  @_spi(Toolkit) public func replacingScalar(_ scalar: Unicode.Scalar, with replacement: String) -> String {
    var result = UnicodeScalarView()
    for one in unicodeScalars {
      if one == scalar { result.append(contentsOf: replacement.unicodeScalars) } else { result.append(one) }
    }
    return String(result)
  }
}
