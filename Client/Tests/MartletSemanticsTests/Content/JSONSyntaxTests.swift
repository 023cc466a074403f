import Foundation
@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Where a text stops being JSON (RFC 8259)") struct JSONSyntaxTests {
  @Test(arguments: [
    "null", " true ", "false", "0", "-0", "12", "-1.5", "1e3", "1E+3", "0.5e-2", #""""#, #""a\"b\\\/\b\f\n\r\t\u00Fc""#,
    "[]", "[ ]", "{}", "{ }", "[1,[2,[]],{}]", #"{"a":1,"b":{"c":[null]}}"#, " [\n1 ,\t2\r\n] ", #"{"":""}"#,
    "\"\u{FC}\"",
  ])
  func validTextHasNoFault(_ text: String) {
    #expect(JSONSyntax.fault(in: text.utf8) == nil)
  }

  @Test(arguments: [
    ("", 1, 1), ("  ", 1, 3), ("nul", 1, 4), ("nulls", 1, 5), ("tru e", 1, 4), ("<html>", 1, 1), ("01", 1, 2),
    ("-", 1, 2), ("1.", 1, 3), (".5", 1, 1), ("+1", 1, 1), ("1e", 1, 3), ("1e+", 1, 4), ("NaN", 1, 1), ("[1,]", 1, 4),
    ("[1 2]", 1, 4), ("[1", 1, 3), ("[", 1, 2), ("]", 1, 1), ("[1}", 1, 3), ("{\"a\"}", 1, 5), ("{\"a\":}", 1, 6),
    ("{a:1}", 1, 2), ("{\"a\":1,}", 1, 8), ("{\"a\":1 \"b\":2}", 1, 8), ("{} {}", 1, 4), ("'a'", 1, 1), ("\"a", 1, 3),
    ("\"\\x\"", 1, 3), ("\"\\u12g4\"", 1, 6), ("\"a\nb\"", 1, 3), ("{\n  \"a\": 1,\n  b\n}", 3, 3), ("[1] // no", 1, 5),
    ("\u{FEFF}{}", 1, 1),
  ])
  func faultIsAtTheFirstByteThatCannotStandThere(_ text: String, _ line: Int, _ column: Int) {
    #expect(JSONSyntax.fault(in: text.utf8)?.description == "line \(line), column \(column)")
  }

  @Test func nestingOfAnyDepthIsRead() {
    let depth = 100_000
    let text = Array(repeating: UInt8(ascii: "["), count: depth) + Array(repeating: UInt8(ascii: "]"), count: depth)
    #expect(JSONSyntax.fault(in: text) == nil)
    #expect(JSONSyntax.fault(in: text.dropLast())?.column == 2 * depth)
  }
}
