import Foundation
@_spi(Toolkit) import MartletSemantics
import SAPFoundation
import Testing

/// The kinds of error bodies in public code, with other names, texts and times.
@Suite("Service errors")
struct ServiceErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: String
    var code = ""
    let message: String
    var details: [String] = []
  }

  static let cases: [Case] = [
    Case(
      testDescription: "V2, business exception, full",
      body: """
        {"error":{"code":"ZX/100","message":{"lang":"nl","value":"Geen voorraad"},"innererror":{"application":
        {"component_id":"","service_namespace":"/SAP/","service_id":"ZX_SRV","service_version":"0001"},
        "transactionid":"A1","timestamp":"20200101000000.0000000","Error_Resolution":{"SAP_Transaction":"Run it",
        "SAP_Note":"1797736","Batch_SAP_Note":"1869434"},"errordetails":[{"code":"ZX/100","message":"Geen voorraad",
        "propertyref":"","severity":"error","target":""},{"code":"ZX/101","message":"Bestel later","longtext_url":"x",
        "propertyref":"Quantity","severity":"info","target":""},{"code":"/IWBEP/CX_MGW_BUSI_EXCEPTION",
        "message":"Geen voorraad","propertyref":"","severity":"error","target":""}]}}}
        """, code: "ZX/100", message: "Geen voorraad", details: ["Bestel later"]),
    Case(
      testDescription: "V2, resource not found, a short inner error",
      body: """
        {"error":{"code":"/IWBEP/CM_MGW_RT/020","message":{"lang":"en","value":"Resource not found for the segment"},
        "innererror":{"transactionid":"B2","timestamp":"20200101000000","Error_Resolution":{"SAP_Note":"See 1"}}}}
        """, code: "/IWBEP/CM_MGW_RT/020", message: "Resource not found for the segment"),
    Case(
      testDescription: "V2, service unknown, no details",
      body: """
        {"error":{"code":"/IWFND/MED/170","message":{"lang":"en","value":"No service found"},"innererror":
        {"errordetails":[]}}}
        """, code: "/IWFND/MED/170", message: "No service found"),
    Case(
      testDescription: "V2, details with additional targets and without property",
      body: """
        {"error":{"code":"A/1","message":{"lang":"en","value":"Wrong"},"innererror":{"errordetails":[{"code":"A/2",
        "message":"Too long","target":"Name","additionalTargets":["Other"],"transition":true}]}}}
        """, code: "A/1", message: "Wrong", details: ["Too long"]),
    Case(
      testDescription: "V2, details as an object",
      body: """
        {"error":{"code":"A/1","message":{"value":"Wrong"},"innererror":{"errordetails":{"errordetail":[
        {"code":"A/2","message":"Too long"},{"code":"A/2","message":"Too long"}]}}}}
        """, code: "A/1", message: "Wrong", details: ["Too long"]),
    Case(
      testDescription: "V2, no time",
      body: #"{"error":{"code":"A/1","message":{"lang":"en","value":"Wrong"},"innererror":{"timestamp":null}}}"#,
      code: "A/1", message: "Wrong"),
    Case(
      testDescription: "V4 of SAP",
      body: """
        {"error":{"code":"M_/011","message":"No plant","target":"Quantity","@SAP__common.numericSeverity":4,
        "@SAP__Common.additionalTargets":["ProductID"],"details":[{"code":"M7/505","message":"Check the date",
        "target":"Date","@SAP__common.Severity":"warning","@SAP__common.numericSeverity":3}],"innererror":{"ErrorDetails":
        {"@SAP__common.Application":{"ComponentId":"MM","ServiceRepository":"SRVD_A2X","ServiceId":"Z","ServiceVersion":
        "0001"},"@SAP__common.TransactionId":"C3","@SAP__common.ErrorResolution":{"Analysis":"Look","Note":"2"}}}}}
        """, code: "M_/011", message: "No plant", details: ["Check the date"]),
    Case(
      testDescription: "V4 of OASIS, free inner error",
      body:
        #"{"error":{"code":"1","message":"Bad","details":[{"code":"2","message":"Worse"}],"innererror":{"trace":[1,2]}}}"#,
      code: "1", message: "Bad", details: ["Worse"]),
    Case(
      testDescription: "odata.error", body: #"{"odata.error":{"code":"7","message":{"lang":"en","value":"Old"}}}"#,
      code: "7", message: "Old"),
    Case(
      testDescription: "integer code",
      body: #"{"error":{"code":-2028,"message":{"lang":"en-us","value":"No record"}}}"#,
      code: "-2028", message: "No record"),
    Case(
      testDescription: "an API gateway in front",
      body: #"{"fault":{"faultstring":"Quota exceeded","detail":{"errorcode":"policies.QuotaViolation"}}}"#,
      code: "policies.QuotaViolation", message: "Quota exceeded"),
    Case(testDescription: "error is a text", body: #"{"error":"broken"}"#, message: "broken"),
    Case(testDescription: "message is nowhere", body: #"{"error":{"code":"X"}}"#, code: "X", message: "404 Not Found"),
    Case(
      testDescription: "details are texts",
      body: #"{"error":{"code":"X","message":"Y","details":["one","two",{"nothing":1}]}}"#, code: "X", message: "Y",
      details: ["one", "two"]),
    Case(
      testDescription: "V4, details that differ only in their target",
      body: """
        {"error":{"code":"A/1","message":"Wrong","target":"Name","details":[{"code":"A/2","message":"Missing",
        "target":"City"},{"code":"A/2","message":"Missing","target":"Street"},{"code":"A/2","message":"Missing",
        "target":"City"},{"code":"A/1","message":"Wrong","target":"Name"},{"code":"A/1","message":"Wrong",
        "target":"Phone"}]}}
        """, code: "A/1", message: "Wrong", details: ["Missing", "Missing", "Wrong"]),
    Case(
      testDescription: "V2, details that differ only in their property",
      body: """
        {"error":{"code":"A/1","message":{"value":"Missing"},"innererror":{"errordetails":[{"code":"A/1",
        "message":"Missing","propertyref":"City"},{"code":"A/1","message":"Missing","propertyref":"Street"},
        {"code":"A/1","message":"Missing","propertyref":"","target":""}]}}}
        """, code: "A/1", message: "Missing", details: ["Missing", "Missing"]),
    Case(
      testDescription: "neither the error nor its first detail have a text",
      body: #"{"error":{"code":"X","details":[{"code":"A/2"},{"code":"A/3","message":"Too long"}]}}"#, code: "X",
      message: "Too long", details: ["", "Too long"]),
    Case(
      testDescription: "only details have a text", body: #"{"error":{"details":[{"message":"the text"}]}}"#,
      message: "the text", details: ["the text"]),
    Case(
      testDescription: "XML",
      body: """
        <?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
        <code>A/1</code><message xml:lang="en">Not &amp; found</message><innererror><transactionid>D4</transactionid>
        <errordetails><errordetail><code>A/2</code><message>Look here</message><severity>error</severity></errordetail>
        </errordetails></innererror></error>
        """, code: "A/1", message: "Not & found", details: ["Look here"]),
    Case(
      testDescription: "XML with the text in a value, and no details",
      body:
        "<error><code>A/1</code><message><value>Gone</value></message><innererror><errordetails/></innererror></error>",
      code: "A/1", message: "Gone"),
    Case(
      testDescription: "XML with details, one",
      body: """
        <m:error xmlns:m="http://docs.oasis-open.org/odata/ns/metadata"><m:code>A/1</m:code><m:message>Wrong</m:message>
        <m:details><m:detail><m:code>A/2</m:code><m:message xml:lang="en">Too long</m:message><m:target>Name</m:target>
        </m:detail></m:details></m:error>
        """, code: "A/1", message: "Wrong", details: ["Too long"]),
    Case(
      testDescription: "XML with details, several, in the inner error",
      body: """
        <error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>A/1</code>
        <message xml:lang="en">Wrong</message><innererror><details><detail><code>A/2</code><message>Too long</message></detail>
        <detail><code>A/3</code><message>Too short</message></detail></details></innererror></error>
        """, code: "A/1", message: "Wrong", details: ["Too long", "Too short"]),
    Case(
      testDescription: "XML of the ABAP Development Tools",
      body: """
        <?xml version="1.0" encoding="utf-8"?><exc:exception xmlns:exc="http://www.sap.com/abapxml/types/communicationframework">
        <namespace id="com.sap.adt"/><type id="ExceptionResourceNotFound"/><message lang="EN">Resource ZX not found</message>
        <localizedMessage lang="DE">Ressource ZX nicht gefunden</localizedMessage><properties><entry key="T100KEY-ID">SADT</entry>
        </properties></exc:exception>
        """, code: "ExceptionResourceNotFound", message: "Ressource ZX nicht gefunden"),
    Case(
      testDescription: "XML of the ABAP Development Tools, not localized",
      body: """
        <exc:exception xmlns:exc="x"><type id="ExceptionResourceNoAccess"/><message lang="EN">No access</message>
        <localizedMessage lang="EN"/></exc:exception>
        """, code: "ExceptionResourceNoAccess", message: "No access"),
    Case(
      testDescription: "XML of the ABAP Development Tools, without a text",
      body: #"<exc:exception xmlns:exc="x"><type id="ExceptionX"/><properties/></exc:exception>"#, code: "ExceptionX",
      message: "404 Not Found"),
    Case(
      testDescription: "HTML",
      body: "<html><head><title>Logon</title></head><body><h1>Please <b>log</b> on</h1></body></html>",
      message: "Logon: Please log on"),
    Case(
      testDescription: "plain text", body: "CSRF token validation failed\r\n", message: "CSRF token validation failed"),
    Case(testDescription: "nothing", body: "", message: "404 Not Found"),
    Case(testDescription: "JSON without an error", body: "[1]", message: "[1]"),
    Case(testDescription: "a byte order mark", body: "\u{FEFF}{\"error\":{\"message\":\"marked\"}}", message: "marked"),
    Case(testDescription: "broken XML", body: "<error><code>", message: "404 Not Found"),
  ]

  @Test(arguments: cases)
  func everyKindOfBodyGivesTheServersText(_ item: Case) throws {
    let data = Data(item.body.utf8)
    let error = try #require(ODataServiceError(ResponseHead(status: .notFound), body: data))

    #expect(error.message == item.message)
    #expect(error.code == item.code)
    #expect(error.details.map(\.message) == item.details)
    #expect(error.errorDescription == item.message)
    #expect(error.data == data)
  }

  @Test func theLanguageOfAnExceptionIsThatOfItsText() throws {
    let item = try #require(Self.cases.first { $0.testDescription == "XML of the ABAP Development Tools" })
    let error = try #require(ODataServiceError(ResponseHead(status: .notFound), body: Data(item.body.utf8)))

    #expect(error.language == "DE")
  }

  @Test func aServerErrorKeepsItsPayloadToo() throws {
    let body = Data(#"{"error":{"code":"A","message":{"lang":"de","value":"Kaputt"}}}"#.utf8)
    let error = try #require(ODataServiceError(ResponseHead(status: .internalServerError), body: body))

    #expect(error.payload?.error.message.value == "Kaputt")
    #expect(error.language == "de")
    #expect(error.failureReason == "500 Internal Server Error, A")
  }

  @Test func theStructureOfTheFullFormIsThere() throws {
    let payload = try JSONDecoder().decode(ODataErrorPayload.self, from: Data(Self.cases[0].body.utf8))

    #expect(payload.error.inner?.application?.serviceId == "ZX_SRV")
    #expect(payload.error.inner?.transactionId == "A1")
    #expect(payload.error.inner?.resolution?.transaction == "Run it")
    #expect(payload.error.inner?.resolution?.note == "1797736")
    #expect(payload.error.inner?.details.count == 3)
    #expect(payload.error.details.first?.propertyRef == "Quantity")
    #expect(payload.error.details.first?.severity == .info)
  }

  @Test func annotationsAreReadUnderAnyAlias() throws {
    let payload = try JSONDecoder().decode(ODataErrorPayload.self, from: Data(Self.cases[6].body.utf8))

    #expect(payload.error.target == "Quantity")
    #expect(payload.error.inner?.application?.serviceNamespace == "SRVD_A2X")
    #expect(payload.error.inner?.transactionId == "C3")
    #expect(payload.error.details.first?.severity == .warning)
  }

  @Test(
    arguments: [
      (#"{"code":"A","message":"Saved","severity":"info","details":[]}"#, nil),
      (
        #"{"code":"A","message":"No","severity":"error","details":[{"code":"B","message":"Why","severity":"error"}]}"#,
        "No"
      ),
      (#"[{"code":"A","message":"Hint","numericSeverity":2},{"code":"B","message":"Bad","numericSeverity":4}]"#, "Bad"),
      ("not json", nil),
    ] as [(String, String?)])
  func aMessageFieldOnASuccessIsAnErrorOnlyIfItSaysSo(_ field: String, _ expected: String?) {
    let name: FieldName = field.hasPrefix("[") ? "sap-messages" : "sap-message"
    let error = ODataServiceError(ResponseHead(status: .ok, fields: [name: field]), body: Data("fine".utf8))

    #expect(error?.message == expected)
  }

  @Test func theMessagesOfASuccessCanBeRead() {
    let details = #""details":[{"code":"B","message":"Check the date","severity":"warning","target":"Date"}]"#
    let field = #"{"code":"A","message":"Saved","severity":"success",\#(details)}"#
    let messages = ResponseHead(status: .created, fields: ["sap-message": field]).sapMessages

    #expect(messages.map(\.message) == ["Saved", "Check the date"])
    #expect(messages.map(\.severity) == [.success, .warning])
    #expect(messages.last?.target == "Date")
    #expect(ResponseHead(status: .ok).sapMessages.isEmpty)
    #expect(ResponseHead(status: .ok, fields: ["sap-message": "no JSON"]).sapMessages.isEmpty)
  }

  @Test(
    arguments: [
      (200, #"{"error":{"code":"A/1"}}"#, "200 OK"), (200, #"{"error":{"message":"x"}}"#, "x"),
      (201, "\u{FEFF} { \"odata.error\" : {\"message\":{\"value\":\"x\"}}}", "x"),
      (200, #"{"error":{"message":"x"},"ID":1}"#, nil), (200, #"{"error":{}}"#, nil), (200, #"{"error":null}"#, nil),
      (200, #"{"ID":1}"#, nil), (200, #"[{"error":{"message":"x"}}]"#, nil), (200, "", nil),
      (302, #"{"error":{"message":"x"}}"#, nil), (302, "", nil),
    ])
  func aSuccessWhoseContentIsNothingButAnErrorIsOne(_ status: Int, _ body: String, _ message: String?) {
    let error = ODataServiceError(ResponseHead(status: HTTPStatus(status)), body: Data(body.utf8))

    #expect(error?.message == message)
  }

  @Test(
    arguments: [
      #"{"error":{"code":"A\u0007","message":"one\ntwo\u202E\u009B","details":[{"message":"\u001B[31mred"}]}}"#,
      "<error><code>A\u{7F}</code><message>one\ntwo\u{202E}\u{9B}</message>"
        + "<details><detail><message>\u{7F}[31mred</message></detail></details></error>",
    ])
  func textsOfAServiceAreShownInASafeForm(_ body: String) throws {
    let error = try #require(ODataServiceError(ResponseHead(status: .badRequest), body: Data(body.utf8)))

    #expect(error.message == "one two\u{FFFD} ")
    #expect(error.description == "one two\u{FFFD}  (400 Bad Request, A )")
    #expect(error.details.map(\.message) == [" [31mred"])
    let text = try #require(ODataServiceError(ResponseHead(status: .badRequest), body: Data("a\u{7F}\u{202E}b".utf8)))
    #expect(text.errorDescription == "a \u{FFFD}b")
  }

  /// With 100,000 details of 50 bytes each, at the place of V2 or V4, and in XML.
  @Test(arguments: [
    (#"{"error":{"code":"A","message":"Many","details":["#, #"{"code":"B","message":"#, "},", "]}}"),
    (
      #"{"error":{"code":"A","message":"Many","innererror":{"errordetails":["#, #"{"code":"B","message":"#, "},", "]}}}"
    ),
    (
      "<error><code>A</code><message>Many</message><details>", "<detail><code>B</code><message>",
      "</message></detail>", "</details></error>"
    ),
  ])
  func ofManyDetailsTheFirstOnesAreRead(_ start: String, _ before: String, _ after: String, _ end: String) throws {
    let isXML = start.hasPrefix("<")
    let details = (0..<100_000).map { before + (isXML ? "number \($0)" : #""number \#($0)""#) + after }.joined()
    let body = start + (isXML ? details : String(details.dropLast())) + end

    let error = try #require(ODataServiceError(ResponseHead(status: .badRequest), body: Data(body.utf8)))

    #expect(error.message == "Many")
    #expect(error.code == "A")
    #expect((1_000..<20_000).contains(error.details.count))
    #expect(error.details.prefix(2).map(\.message) == ["number 0", "number 1"])
    #expect(error.details.dropLast().allSatisfy { $0.code == "B" && $0.message.hasPrefix("number ") })
  }

  @Test func whatHoldsNoErrorDoesNotDecode() {
    for body in ["{}", "[]", "3", #"{"error":null}"#, #"{"error":[1]}"#] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(ODataErrorPayload.self, from: Data(body.utf8))
      }
    }
  }

  @Test func aLongPageOrADeepDocumentDoesNoHarm() throws {
    let deep = String(repeating: "<a>", count: 10_000) + String(repeating: "</a>", count: 10_000)
    #expect(ODataServiceError(ResponseHead(status: .badRequest), body: Data(deep.utf8))?.message == "400 Bad Request")

    let long = String(repeating: "long ", count: 10_000)
    let error = try #require(ODataServiceError(ResponseHead(status: .badRequest), body: Data(long.utf8)))
    #expect(error.message.count < 600)
  }

  /// A character lies across the limit of the bytes that are read, and the bytes after it are not UTF-8.
  @Test func onlyTheBeginningOfALongTextIsReadAndAllOfItsCharactersAreWhole() throws {
    let body = Data("a".utf8) + Data(String(repeating: "é", count: 32_768).utf8) + Data([0xFF])
    let error = try #require(ODataServiceError(ResponseHead(status: .badRequest), body: body))

    #expect(error.message == "a" + String(repeating: "é", count: 499) + "…")
  }
}
