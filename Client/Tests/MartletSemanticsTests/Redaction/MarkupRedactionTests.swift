@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Redaction of XML, HTML and bodies without a type")
struct MarkupRedactionTests {
  @Test(arguments: [
    ("<a><user>u</user><password>p</password></a>", "<a><user>u</user><password>***</password></a>"),
    ("<wsse:Password Type='t'>p</wsse:Password>", "<wsse:Password Type='t'>***</wsse:Password>"),
    ("<password>\n  <![CDATA[</password>]]>\n</password>", "<password>***</password>"),
    ("<token><a>1</a><token>2</token></token><b>3</b>", "<token>***</token><b>3</b>"),
    ("<login user=\"u\" password=\"p>q\" />", "<login user=\"u\" password=\"***\" />"),
    ("<login password = 'p' user='u'/>", "<login password = '***' user='u'/>"),
    ("<password/><a>1</a>", "<password/><a>1</a>"), ("<password></password><a>1</a>", "<password></password><a>1</a>"),
    ("<password>cut o", "<password>***"), ("<a password=\"cut", "<a password=\"***"), ("<passwo", "<passwo"),
    ("<string name=\"api_key\">p</string>", "<string name=\"api_key\">***</string>"),
    ("<entry key=\"token\" value=\"p\"/>", "<entry key=\"token\" value=\"***\"/>"),
    ("<dict><key>password</key><string>p</string></dict>", "<dict><key>password</key><string>***</string></dict>"),
    (
      "<member><name>secret</name>\n<value><string>p</string></value></member>",
      "<member><name>secret</name>\n<value>***</value></member>"
    ),
    ("<dict><key>name</key><string>n</string></dict>", "<dict><key>name</key><string>n</string></dict>"),
    ("<Error><Code>NoSuchKey</Code><Key>a/b</Key></Error>", "<Error><Code>NoSuchKey</Code><Key>a/b</Key></Error>"),
    ("<a href=\"https://h/?a=1&amp;key=x\">b</a>", "<a href=\"https://h/?a=1&amp;key=***\">b</a>"),
    ("<url>https://u:p@h/?token=x</url>", "<url>https://h/?token=***</url>"),
    ("<card><number>4242 4242 4242 4242</number></card>", "<card><number>***</number></card>"),
    ("<!-- <password>c</password> --><a>1 < 2</a>", "<!-- <password>c</password> --><a>1 < 2</a>"),
    ("<?xml version=\"1.0\"?><!DOCTYPE a><a/>", "<?xml version=\"1.0\"?><!DOCTYPE a><a/>"),
    ("<", "<"), ("<<password>p</password>", "<<password>***</password>"), ("<a <b>", "<a <b>"), ("<a \"=>", "<a \"=>"),
  ])
  func markupKeepsWhatIsNotSecret(body: String, shown: String) {
    for type: MediaType? in ["application/xml", "text/xml", "application/soap+xml", "text/plain", nil] {
      #expect(redacted(body, type) == shown)
    }
    #expect(Redaction.off.redacted(Data(body.utf8), type: "application/xml") == Data(body.utf8))
  }

  @Test(arguments: [
    (
      "<form><input name=\"csrf_token\" value=\"p\"><input name=\"a\" value=\"b\"><p>c</p>",
      "<form><input name=\"csrf_token\" value=\"***\"><input name=\"a\" value=\"b\"><p>c</p>"
    ),
    ("<meta name='csrf-token' content='p'><p>c</p>", "<meta name='csrf-token' content='***'><p>c</p>"),
    ("<script>if (a<b) { x('</p>') }</script><code>1</code>", "<script>if (a<b) { x('</p>') }</script><code>1</code>"),
  ])
  func htmlKeepsWhatIsNotSecret(body: String, shown: String) {
    #expect(redacted(body, "text/html; charset=utf-8") == shown)
  }

  @Test(arguments: [
    ("user=u&password=p%26w", "user=u&password=***"), ("user[password]=p", "user[password]=***"),
    ("{\"password\": \"p\"}", "{\"password\": \"***\"}"),
    ("\u{FEFF}{\"password\": 1}", "\u{FEFF}{\"password\": \"***\"}"),
    (
      "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\np\r\n--b--\r\n",
      "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n***\r\n--b--\r\n"
    ),
    ("a sentence = password=p", "a sentence = password=p"), ("=p", "=p"), ("YWJj==", "YWJj=="),
  ])
  func aBodyWithoutATypeIsSearchedAsWhatItLooksLike(body: String, shown: String) {
    #expect(redacted(body, nil) == shown)
    #expect(redacted(body, "application/octet-stream") == shown)
  }

  @Test(arguments: [
    "<a><password>s3cret</password></a>", "<a password='s3cret'/>", "<e key=\"token\" value=\"s3cret\"/>",
    "<dict><key>password</key>\n<string>s3cret</string></dict>", "<password><![CDATA[s3cret]]></password>",
    "<t:token><x>s3cret</x><token>s3cret</token></t:token>", "<input name=pin value=s3cret>",
  ])
  func noTruncatedTextShowsTheSecret(body: String) {
    for length in 1...body.utf8.count {
      let shown = redacted(String(body.prefix(length)), "application/xml")
      #expect(!shown.contains("s3c"), "\(body.prefix(length))")
    }
  }

  @Test func damagedTextsAreRedactedInLinearTime() {
    for piece in ["<token ", "<token>", "<a <", "</", "<![CDATA[", "<!--", "<a b=\"", "<key>token</key>", "<script>"] {
      let body = Data(("<token>" + String(repeating: piece, count: 5_000)).utf8)
      for type: MediaType? in ["application/xml", nil] {
        #expect(Redaction.standard.redacted(body, type: type).count <= body.count + 3)
      }
      _ = Redaction.standard.redacted(Data(body.dropFirst(7)), type: "text/html")
    }
    var random = SystemRandomNumberGenerator()
    let characters = Array("<>/='\" abkeyname password!-[CDATA]?:\n".utf8)
    for _ in 0..<2000 {
      let bytes = (0..<60).map { _ in characters[Int.random(in: 0..<characters.count, using: &random)] }
      _ = Redaction.standard.redacted(Data(bytes), type: "application/xml")
    }
  }

  @Test func bytesThatAreNoTextAreNoForm() {
    let bytes = Data("password=".utf8) + [0xFF, 0xFE]
    #expect(Redaction.standard.redacted(bytes, type: nil) == bytes)
  }

  @Test func aPartWithoutATypeIsSearched() {
    let body = "--b\r\nContent-Disposition: form-data; name=\"meta\"\r\n\r\n{\"token\": 1}\r\n--b--\r\n"
    #expect(redacted(body, "multipart/form-data; boundary=b") == body.replacing("1}", with: "\"***\"}"))
  }

  @Test func aCallersNameIsHiddenAlsoWhereItIsCommon() {
    let redaction = Redaction.standard.hiding(names: ["code"])
    let shown = redaction.redacted(Data("<code>1</code>".utf8), type: "application/xml")
    #expect(String(decoding: shown, as: UTF8.self) == "<code>***</code>")
  }

  private func redacted(_ body: String, _ type: MediaType?) -> String {
    String(decoding: Redaction.standard.redacted(Data(body.utf8), type: type), as: UTF8.self)
  }
}
