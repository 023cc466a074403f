#if os(Linux)
import CNGHTTP2

extension HTTP2Fields {
  /// Calls the closure with the lines in nghttp2's form. They are valid only during the call; nghttp2 copies them.
  func withNameValues<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
    bytes.withUnsafeBufferPointer { bytes in
      withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lines.count) { fields in
        // Not null even without bytes. nghttp2 only reads them.
        let base = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
        for (index, line) in lines.enumerated() {
          let flags = line.isSecret ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : NGHTTP2_NV_FLAG_NONE.rawValue
          let field = nghttp2_nv(
            name: base?.advanced(by: line.start), value: base?.advanced(by: line.start + line.nameCount),
            namelen: line.nameCount, valuelen: line.valueCount, flags: UInt8(flags))
          fields.initializeElement(at: index, to: field)
        }
        return body(UnsafePointer(fields.baseAddress), lines.count)
      }
    }
  }
}
#endif
