@testable import MartletCommandLine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Testing

/// Bodies of JSON from items whose names are paths, as HTTPie's documentation describes them under "Nested JSON".
@Suite("Nested JSON", .timeLimit(.minutes(5)))
struct NestedJSONTests {
  private func body(_ items: [String]) throws -> String {
    var body = JSONBody()
    for item in items {
      switch try RequestItem.parse(item) {
      case .text(let name, .text(let text)): try body.set(JSONSyntax.quoted(text), at: BodyPath(name))
      case .json(let name, .text(let text)): try body.set(text, at: BodyPath(name))
      default: throw UsageError("'\(item)' is no member of a body")
      }
    }
    return body.text
  }

  @Test(
    arguments: [
      (["a=1", "b:=2"], #"{"a":"1","b":2}"#),
      // members stay where their first items are
      (["b=1", "a=2", "b=3"], #"{"b":"3","a":"2"}"#),
      (["user[name]=Ada", "user[id]:=7"], #"{"user":{"name":"Ada","id":7}}"#),
      (["a[b][c][d]=x"], #"{"a":{"b":{"c":{"d":"x"}}}}"#),
      // elements that are added, and elements with a number
      (["list[]=a", "list[]:=1"], #"{"list":["a",1]}"#),
      (["list[1]=b", "list[0]=a"], #"{"list":["a","b"]}"#),
      (["list[]=a", "list[1]=b", "list[3]=d"], #"{"list":["a","b",null,"d"]}"#),
      (["a[b][0]:=2"], #"{"a":{"b":[2]}}"#),
      (["rows[0][id]:=1", "rows[0][item]=Tea", "rows[1][id]:=2"], #"{"rows":[{"id":1,"item":"Tea"},{"id":2}]}"#),
      (["rows[][id]:=1", "rows[][id]:=2"], #"{"rows":[{"id":1},{"id":2}]}"#),
      (["a[]:=1", "a[][]:=2", "a[][][]:=3"], #"{"a":[1,[2],[[3]]]}"#),
      (["deep[json][3][power][]=x"], #"{"deep":{"json":[null,null,null,{"power":["x"]}]}}"#),
      (["a[01]=x"], #"{"a":[null,"x"]}"#),
      // an array as the body
      (["[]:=1", "[]:=2"], "[1,2]"),
      (["[]:=[1,2]"], "[[1,2]]"),
      (["[0][type]=a", "[1][type]=b", "[0][name]=c"], #"[{"type":"a","name":"c"},{"type":"b"}]"#),
      (["[][a][]:=1", "[0][a][]:=2"], #"[{"a":[1,2]}]"#),
      // values given as JSON are extended, and keep their digits and escapes
      ([#"a:=["x", "y"]"#, "a[]=z"], #"{"a":["x","y","z"]}"#),
      (
        [#"a:= {"x" : 1.50, "y":[1, {"k":"],\"}"}], "\u0041":2}"#, "a[y][1][n]:=1e5", "a[A]=3"],
        #"{"a":{"x":1.50,"y":[1,{"k":"],\"}","n":1e5}],"\u0041":"3"}}"#
      ),
      (["a:=[]", "a[]:=1", "b:={ }", "b[c]:=2"], #"{"a":[1],"b":{"c":2}}"#),
      (["a:=[[1,2],[3]]", "a[0][0]:={}", "a[1][]:=4"], #"{"a":[[{},2],[3,4]]}"#),
      // null has no type yet, and a value may be replaced by one of another type
      (["a:=null", "a[b]=1"], #"{"a":{"b":"1"}}"#), (["a[1]=x", "a[0][]=y"], #"{"a":[["y"],"x"]}"#),
      (["a[b]:=411", "a[b]=x"], #"{"a":{"b":"x"}}"#), (["a[b][c]=1", "a[b]=2"], #"{"a":{"b":"2"}}"#),
      (["a[]=1", "a=2"], #"{"a":"2"}"#),
      // plain brackets and backslashes
      ([#"foo\[bar\]:=1"#, #"baz[\[]:=2"#, #"baz[\]]:=3"#], #"{"foo[bar]":1,"baz":{"[":2,"]":3}}"#),
      ([#"\[\]:=1"#, #"\]:=2"#, #"e\[s\][c][\[d\]][]:=3"#], #"{"[]":1,"]":2,"e[s]":{"c":{"[d]":[3]}}}"#),
      ([#"backslash[\\]:=1"#], #"{"backslash":{"\\":1}}"#),
      ([#"A[B\\]=C"#, #"A[B\\\\]=C"#, #"A[\B\\]=C"#], #"{"A":{"B\\":"C","B\\\\":"C","\\B\\":"C"}}"#),
      ([#"a\\=1"#, #"b\c=2"#], #"{"a\\":"1","b\\c":"2"}"#),
      // numbers that are names
      ([#"object[\1]=x"#, #"object[\100]=y"#, "array[1]=z"], #"{"object":{"1":"x","100":"y"},"array":[null,"z"]}"#),
      ([#"a[\\1]:=1"#, #"a[\\\2]:=2"#, #"a[-1\\]:=3"#, #"a[\-1]:=4"#], #"{"a":{"\\1":1,"\\\\2":2,"-1\\":3,"-1":4}}"#),
      ([#"a[\dates][0]:=1"#, #"a[1 b]:=2"#], #"{"a":{"\\dates":[1],"1 b":2}}"#),
      ([#"\1=x"#, #"\\1=y"#, "2[a]=z"], #"{"1":"x","\\1":"y","2":{"a":"z"}}"#),
      // separators in paths
      ([#"f\=[g\:h]=1"#], #"{"f=":{"g:h":"1"}}"#),
    ] as [([String], String)])
  func itemsMakeTheBodyThatHTTPieMakes(items: [String], json: String) throws {
    #expect(try body(items) == json)
    #expect(JSONSyntax.fault(in: json.utf8) == nil)
  }

  @Test(
    arguments: [
      (["A[=1"], "the name 'A[': a name, a number or ']' is expected here", "  ^"),
      (["foo[baz][quux=x"], "the name 'foo[baz][quux': ']' is expected here", "             ^"),
      (["A[text]1=1"], "the name 'A[text]1': '[' is expected here, not '1'", "       ^"),
      (["a[b][1]some[]=1"], "the name 'a[b][1]some[]': '[' is expected here, not 'some'", "       ^^^^"),
      (["A]=1"], "the name 'A]': '[' is expected here, not ']'", " ^"),
      (["a[b[]=1"], "the name 'a[b[]': ']' is expected here, not '['", "   ^"),
      ([#"A[some\]=1"#], #"the name 'A[some\]': ']' is expected here"#, "        ^"),
      (["[name]=1"], "the name '[name]': a path without a name begins with a number or '[]'", "^^^^^^"),
      (
        ["a[-1]=1"], #"the name 'a[-1]': an element's number is from 0 to 9999: '[\-1]' is a member of that name"#,
        "  ^^"
      ),
      (
        ["a[99999999999999999999]=1"],
        #"the name 'a[99999999999999999999]': an element's number is from 0 to 9999: '[\99999999999999999999]' is a "#
          + "member of that name", "  ^^^^^^^^^^^^^^^^^^^^"
      ),
      (
        ["foo=1", "foo[key]=2"], "the name 'foo[key]': '[key]' needs an object, but 'foo' is already a string",
        "   ^^^^^"
      ),
      (["foo:=1", "foo[0]=2"], "the name 'foo[0]': '[0]' needs an array, but 'foo' is already a number", "   ^^^"),
      (["foo:=true", "foo[]=2"], "the name 'foo[]': '[]' needs an array, but 'foo' is already a Boolean", "   ^^"),
      (
        ["d[k]=1", "d[0]=2"],
        #"the name 'd[0]': '[0]' needs an array, but 'd' is already an object; '[\0]' is a member of that name"#, " ^^^"
      ),
      (
        ["d[x][]=1", "d[x][key]=2"],
        "the name 'd[x][key]': '[key]' needs an object, but 'd[x]' is already an array", "    ^^^^^"
      ),
      (
        ["a:=[1]", "a[0][b]=1"], "the name 'a[0][b]': '[b]' needs an object, but 'a[0]' is already a number", "    ^^^"
      ),
      (["a=2", "[]:=1"], "the name '[]': '[]' needs an array, but the body is already an object", "^^"),
      (["[]:=1", "ab[]=2"], "the name 'ab[]': 'ab' needs an object, but the body is already an array", "^^"),
    ] as [([String], String, String)])
  func mistakesNameTheItemAndMarkThePlace(items: [String], message: String, mark: String) throws {
    do throws(any Error) {
      Issue.record("\(items) make \(try body(items))")
    } catch {
      let error = try #require(error as? UsageError)
      let plain = error.description.firstRange(of: "; '\\[' is a plain bracket")
      #expect(error.description[..<(plain?.lowerBound ?? error.description.endIndex)] == message)
      #expect(error.excerpt.count == 2 && error.excerpt.last == mark)
    }
  }

  @Test func aPathIsNotDeeperThanItsLimit() throws {
    let deepest = "a" + String(repeating: "[]", count: BodyPath.partLimit - 1)
    #expect(
      try body([deepest + "=x"]).hasSuffix("[\"x\"" + String(repeating: "]", count: BodyPath.partLimit - 1) + "}"))
    #expect(throws: UsageError("the name 'a[][][][]…' leads 201 levels deep: 200 are allowed")) {
      try BodyPath(deepest + "[]")
    }
  }

  @Test func theProgramShowsThePlaceBelowTheMessage() async throws {
    let result = try await TestRun()("post", ":1", "user[name]=Ada", "user[]=x")
    #expect(result.code == .failure)
    #expect(
      result.errors.text == """
        martlet: the name 'user[]': '[]' needs an array, but 'user' is already an object
                 user[]
                     ^^

        """)
  }

  @Test func namesInAFormAreAsTheyAreWritten() async throws {
    let server = try LoopbackServer { _ in .json("{}") }
    let run = try TestRun()
    _ = try await run("post", ":\(server.port)/", "--form", "user[name]=Ada", "tags[]=a", "tags[]=b", #"c\[d=e"#)
    _ = try await run("post", ":\(server.port)/", "--multipart", "user[name]=Ada")
    _ = try await run("get", ":\(server.port)/", "page[size]==2")
    #expect(try await server.request(1).text == "user%5Bname%5D=Ada&tags%5B%5D=a&tags%5B%5D=b&c%5C%5Bd=e")
    #expect(try await server.request(2).text.contains("name=\"user[name]\""))
    #expect(try await server.request(3).target.hasPrefix("/?page"))
  }

  @Test func valuesFromFilesHaveAPlaceToo() async throws {
    let server = try LoopbackServer { _ in .json("{}") }
    let run = try TestRun()
    try run.folder.write(Data("text\n".utf8), to: "a.txt")
    try run.folder.write(Data("\n[1,\r\n 2]\r\n".utf8), to: "b.json")
    _ = try await run("post", ":\(server.port)/", "a[text]=@a.txt", "a[json]:=@b.json", "a[json][]:=3")
    #expect(try await server.request(1).text == #"{"a":{"text":"text\n","json":[1,2,3]}}"#)
  }
}
