/// Punycode (RFC 3492), the encoding of labels with non-ASCII letters in the DNS.
package enum Punycode {
  /// Returns the A-label of a label: `bücher` becomes `xn--bcher-kva`, ASCII is unchanged.
  ///
  /// Letters become lower case; the other mappings of UTS #46 must already have been applied to the URL. nil if the
  /// A-label has more than 63 bytes, the limit of a label (RFC 1035 §2.3.4).
  package static func encode(label: some StringProtocol) -> String? {
    guard !label.utf8.allSatisfy({ $0 < 128 }) else { return ASCII.lowercased(label) }
    guard label.unicodeScalars.prefix(limit + 1).count <= limit else { return nil }
    let points = label.lowercased().unicodeScalars.map(\.value)
    var output = points.filter { $0 < 128 }.map(UInt8.init)
    let basicCount = output.count
    if basicCount > 0 { output.append(UInt8(ascii: "-")) }
    var state = State(handled: basicCount)
    while state.handled < points.count {
      guard let next = points.lazy.filter({ $0 >= state.point }).min() else { return nil }
      let (step, overflow) = (next - state.point).multipliedReportingOverflow(by: UInt32(state.handled + 1))
      guard !overflow, step <= UInt32.max / 2 - state.delta else { return nil }
      state.delta += step
      state.point = next
      for point in points {
        if point < next { state.delta += 1 }
        if point == next { state.emit(to: &output, isFirst: state.handled == basicCount) }
      }
      state.delta += 1
      state.point += 1
    }
    return output.count <= limit ? "xn--" + String(decoding: output, as: UTF8.self) : nil
  }

  /// The maximum number of bytes after `xn--`; each letter needs at least one.
  private static let limit = 59

  /// The variables of the algorithm in RFC 3492 §6.3.
  private struct State {
    var point: UInt32 = 128
    var delta: UInt32 = 0
    var bias: UInt32 = 72
    var handled: Int

    /// Writes the delta as a variable-length number, and adapts the bias.
    mutating func emit(to output: inout [UInt8], isFirst: Bool) {
      var rest = delta
      var weight: UInt32 = 36
      while true {
        let threshold = weight <= bias ? 1 : min(weight - bias, 26)
        guard rest >= threshold else { break }
        output.append(Self.digit(threshold + (rest - threshold) % (36 - threshold)))
        rest = (rest - threshold) / (36 - threshold)
        weight += 36
      }
      output.append(Self.digit(rest))
      handled += 1
      bias = Self.adapted(delta, isFirst: isFirst, count: UInt32(handled))
      delta = 0
    }

    private static func digit(_ value: UInt32) -> UInt8 { UInt8(value < 26 ? value + 97 : value + 22) }

    /// Returns the adapted bias (RFC 3492 §6.1).
    private static func adapted(_ delta: UInt32, isFirst: Bool, count: UInt32) -> UInt32 {
      var delta = isFirst ? delta / 700 : delta / 2
      delta += delta / count
      var steps: UInt32 = 0
      while delta > 455 {
        delta /= 35
        steps += 36
      }
      return steps + 36 * delta / (delta + 38)
    }
  }
}
