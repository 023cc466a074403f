import MartletSemantics
import Testing

private let trace = "0af7651916cd43dd8448eb211c80319c"

/// W3C Trace Context, level 1.
struct TraceContextTests {
  @Test func aValidValueIsContinuedWithItsTraceAndFlag() throws {
    let table = [
      ("00-\(trace)-b7ad6b7169203331-01", true), ("00-\(trace)-b7ad6b7169203331-00", false),
      // other flags are unknown
      ("00-\(trace)-b7ad6b7169203331-ff", true), ("00-\(trace)-b7ad6b7169203331-02", false),
      // a later version begins alike
      ("cc-\(trace)-b7ad6b7169203331-01", true), ("cc-\(trace)-b7ad6b7169203331-01-what-else", true),
    ]
    for (value, isSampled) in table {
      let parent = try #require(TraceParent(value), "\(value)")
      #expect(parent.traceID == trace)
      #expect(parent.isSampled == isSampled)
      #expect(parent.value(span: 17) == "00-\(trace)-0000000000000011-\(isSampled ? "01" : "00")")
    }
  }

  @Test(arguments: [
    "", "00", "ff-\(trace)-b7ad6b7169203331-01", "00-\(trace)-b7ad6b7169203331-01-", "00-\(trace)-b7ad6b7169203331-01.",
    "00-\(trace)-b7ad6b7169203331-1", "00-\(trace)-b7ad6b716920333-01", "0-\(trace)-b7ad6b7169203331-01",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-\(trace)-0000000000000000-01",
    "00-\(trace.uppercased())-b7ad6b7169203331-01", "00-\(trace)-B7ad6b7169203331-01",
    "0x-\(trace)-b7ad6b7169203331-01",
    "00-\(trace)-b7ad6b7169203331-0g", "00_\(trace)-b7ad6b7169203331-01", "cc-\(trace)-b7ad6b7169203331-01what",
    " 00-\(trace)-b7ad6b7169203331-01", "00-\(trace)-b7ad6b7169203331-01, 00-\(trace)-b7ad6b7169203331-01",
  ])
  func anInvalidValueIsNone(_ value: String) { #expect(TraceParent(value) == nil) }

  @Test func theStatesOfOtherSystemsAreOneList() {
    let table: [([String], String?)] = [
      (["congo=t61rcWkgMzE"], "congo=t61rcWkgMzE"), (["a=1, b=2", "c=3"], "a=1,b=2,c=3"), (["a=1,, b=2 ,"], "a=1,b=2"),
      (["fw529a3039@dt=FfAAAAA"], "fw529a3039@dt=FfAAAAA"), (["1a-*/_=x y"], "1a-*/_=x y"), ([], nil), ([""], nil),
      (["a"], nil), (["=1"], nil), (["a="], nil), (["A=1"], nil), (["a=1=2"], nil), (["a=ü"], nil), (["a b=1"], nil),
      (["a=1,a=2"], nil), (["a@b@c=1"], nil), (["a@=1"], nil), (["@a=1"], nil),
      (["a=" + String(repeating: "x", count: 257)], nil),
      ([(1...32).map { "a\($0)=1" }.joined(separator: ",")], (1...32).map { "a\($0)=1" }.joined(separator: ",")),
      ([(1...33).map { "a\($0)=1" }.joined(separator: ",")], nil),
    ]
    for (values, expected) in table { #expect(TraceState.combined(values) == expected, "\(values)") }
  }
}
