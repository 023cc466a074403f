@_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Redaction")
struct RedactionTests {
  @Test(arguments: [
    "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-CSRF-Token", "x-xsrf-token", "X-API-Key",
    "Api-Key", "apikey", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "X-Amz-Security-Token", "X-Amz-Signature",
    "X-Vault-Token", "X-Functions-Key", "X-Shared-Secret", "X-Forwarded-Authorization", "X-Session-Id",
    "X-Auth", "X-XSRF", "X-Key", "X-Session", "DPoP",
  ])
  func fieldsThatCarryCredentialsAreHidden(name: String) throws {
    #expect(Redaction.standard.hides(try FieldName(name)))
    #expect(!Redaction.off.hides(try FieldName(name)))
  }

  @Test(arguments: [
    "Accept", "Host", "Content-Type", "ETag", "Date", "Idempotency-Key", "X-Request-Id", "Sec-WebSocket-Key",
    "X-RateLimit-Remaining", "WWW-Authenticate", "Digest", "Authentication-Info", "X-Max-Tokens",
    "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
  ])
  func otherFieldsAreShown(name: String) throws {
    #expect(!Redaction.standard.hides(try FieldName(name)))
  }

  @Test(arguments: [
    "access_token", "accessToken", "ACCESS_TOKEN", "token", "id_token", "refreshToken", "api_key", "apiKey", "api-key",
    "APIKey", "key", "secret", "client_secret", "clientSecret", "password", "password2", "passwordConfirmation",
    "new_password", "userpassword", "passwd", "pwd", "code", "code_verifier", "authorization_code", "sig", "signature",
    "X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "auth", "jwt", "otp", "session_id", "JSESSIONID", "sid",
    "privateKey", "aws_secret_access_key", "SAMLResponse", "client_assertion", "pin", "csrfmiddlewaretoken",
    "id_token_hint", "SAMLart", "dpop", "cardNumber", "card_number", "card[number]", "creditCard", "credit-card-number",
    "cc_number", "ccnum", "pan", "cvv2",
  ])
  func namesOfSecretsAreHidden(name: String) {
    #expect(Redaction.standard.hides(name: name))
  }

  @Test(arguments: [
    "page", "q", "token_type", "max_tokens", "nextPageToken", "country_code", "statusCode", "sort_key", "monkey",
    "keyboard", "author", "authenticated", "passenger", "sign", "encode", "id", "user_id", "design",
    "state", "number", "order_number", "discard_no", "card", "cardType", "company", "span",
  ])
  func otherNamesAreShown(name: String) {
    #expect(!Redaction.standard.hides(name: name))
  }

  @Test(arguments: Redaction.usual)
  func theNamesOfUsualFieldsAreNotSecretUnlessTheCallerSaysSo(name: FieldName) {
    #expect(!Redaction.standard.hiding(names: ["other"]).hides(name), "found without the list of usual names")
    #expect(Redaction.standard.hiding(names: [name.rawName]).hides(name))
    #expect(Redaction.standard.hiding(fields: [name]).hides(name))
  }

  @Test func callersExtendAndReduceWhatIsHidden() {
    let redaction = Redaction.standard.hiding(fields: ["X-Tenant"], names: ["IBAN", "page_no"])
      .showing(fields: [.cookie], names: ["code"])

    #expect(redaction.hides("x-tenant") && redaction.hides(name: "iban") && redaction.hides(name: "pageNo"))
    #expect(!redaction.hides(.cookie) && !redaction.hides(name: "code"))
    #expect(redaction.hides(.setCookie) && redaction.hides(name: "token"))
    #expect(!redaction.showing(names: ["iban"]).hides(name: "iban"))
    let shown = Redaction.standard.showing(names: ["state", "number"])
    #expect(
      shown.redacted(reference: "/cb?code=1&state=2&number=4111111111111111")
        == "/cb?code=***&state=2&number=4111111111111111")
  }

  @Test(arguments: [
    ("https://user:password@h:8443/a%20b?q=1&token=x#top", "https://h:8443/a%20b?q=1&token=***#top"),
    ("https://token@h/", "https://h/"),
    ("https://a:b@c@h/", "https://h/"),
    ("https://h/cb#access_token=x&state=1", "https://h/cb#access_token=***&state=***"),
    ("https://h/authorize?client_id=1&state=2", "https://h/authorize?client_id=1&state=***"),
    ("https://h/cb?error=denied&state=2", "https://h/cb?error=denied&state=***"),
    ("https://h/issues?state=open&page=2", "https://h/issues?state=open&page=2"),
    ("https://h/pay?number=4111+1111+1111+1111&amount=1", "https://h/pay?number=***&amount=1"),
    ("https://h/a;jsessionid=x/b;v=1?q", "https://h/a;jsessionid=***/b;v=1?q"),
    ("/login?next=/a&%70assword=x", "/login?next=/a&%70assword=***"),
    ("//u:p@h?key=1", "//h?key=***"),
    ("https://h/?token=", "https://h/?token=***"),
    ("https://h/?to=https%3A%2F%2Fi%2Fcb%3Faccess_token%3Dx&b=c", "https://h/?to=***&b=c"),
    ("https://h/?to=https://u:p@i/&b=https://i/?c=d", "https://h/?to=***&b=https://i/?c=d"),
    ("https://h/?to=http://i?a=http://j#token=x", "https://h/?to=http://i?a=http://j#token=***"),
    ("https://h/#to=http://i?a=http://j?token=x", "https://h/#to=***"),
    ("https://h/?a@b=c", "https://h/?a@b=c"),
    ("?api_key=a=b", "?api_key=***"),
    ("data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,…"),
    ("DATA:,secret?a=b", "DATA:,…"),
    ("data:secret", "data:,…"),
  ])
  func urlsKeepWhatIsNotSecret(reference: String, shown: String) {
    #expect(Redaction.standard.redacted(reference: reference) == shown)
    #expect(Redaction.off.redacted(reference: reference) == reference)
  }

  @Test(arguments: [
    (FieldName.authorization, "Bearer abc", "Bearer ***"), (.authorization, "Basic dTpw", "Basic ***"),
    (.authorization, "abc def", "***"), (.authorization, "abc", "***"),
    (.proxyAuthorization, "Digest username=\"u\", response=\"r\"", "Digest ***"),
    (.cookie, "a=1; b=2", "a=***; b=***"), (.cookie, "flag", "***"), (.cookie, "a=1;b=2", "a=***; b=***"),
    (.setCookie, "a=1; Path=/; HttpOnly", "a=***; Path=/; HttpOnly"),
    (.location, "https://u:p@h/cb?code=1&state=2", "https://h/cb?code=***&state=***"),
    (.referer, "https://h/?token=1", "https://h/?token=***"),
    (
      .link, "<https://h/?page=2&key=1>; rel=\"next\", </b?sig=1>",
      "<https://h/?page=2&key=***>; rel=\"next\", </b?sig=***>"
    ),
    ("X-API-Key", "abc", "***"), (.accept, "text/html", "text/html"),
  ])
  func fieldsKeepWhatIsNotSecret(name: FieldName, value: String, shown: String) {
    #expect(Redaction.standard.redacted(value, of: name) == shown)
    #expect(Redaction.off.redacted(value, of: name) == value)
  }

  private static let json: MediaType = "application/json"
  private static let form: MediaType = "application/x-www-form-urlencoded"

  @Test(
    arguments: [
      (json, #"{"user": "u", "password" : "p\"w", "n": 1}"#, #"{"user": "u", "password" : "***", "n": 1}"#),
      (json, #"{"token":123,"a":[{"secret":{"x":[1,"}"]}},2]}"#, #"{"token":"***","a":[{"secret":"***"},2]}"#),
      (json, #"{"pass\u0077ord": "p"}"#, #"{"pass\u0077ord": "***"}"#),
      (
        json, #"{"has_password": true, "secret": null, "token": false}"#,
        #"{"has_password": true, "secret": null, "token": false}"#
      ),
      (json, #"["password", "token: x"]"#, #"["password", "token: x"]"#),
      (json, #"{"password": "cut o"#, #"{"password": "***""#),
      (json, #"{"password": {"a": [1"#, #"{"password": "***""#),
      (json, #"{"password":"#, #"{"password":"#),
      (json, #"{"passwo"#, #"{"passwo"#),
      (json, #"{"state":"open","number":7}"#, #"{"state":"open","number":7}"#),
      (
        json, #"{"card":{"number":"4242 4242 4242 4242","exp":1},"number": 5555555555554444}"#,
        #"{"card":{"number":"***","exp":1},"number": "***"}"#
      ),
      (json, #"{"number":"4242424242424241"}"#, #"{"number":"4242424242424241"}"#),
      (json, #"{"a": "x\"#, #"{"a": "x\"#),
      (json, #"["https://u:p@h/?a=1&token=x"]"#, #"["https://h/?a=1&token=***"]"#),
      (json, #"{"url":"https:\/\/h\/?key=x","b":"http"}"#, #"{"url":"https://h/?key=***","b":"http"}"#),
      (json, #"{"url":"https://h/?a=1\u0026token=x"}"#, #"{"url":"https://h/?a=1&token=***"}"#),
      (json, #"["https:\u002f\u002fu:p@h\u003Fkey\u003dx\u0022"]"#, #"["https://h?key=***"]"#),
      (json, #"{"url":"https://h/?key=x"#, #"{"url":"https://h/?key=***"#),
      (json, "{\"token\":1}\n{\"token\":2}", "{\"token\":\"***\"}\n{\"token\":\"***\"}"),
      ("application/problem+json", #"{"token":"x"}"#, #"{"token":"***"}"#),
      ("text/plain", #" {"token":"x"}"#, #" {"token":"***"}"#),
      ("text/plain", "token=x", "token=x"),
      (form, "a=1&password=p%26w&b=&token", "a=1&password=***&b=&token"),
      (form, "pass%77ord=x&client%5Fsecret=y", "pass%77ord=***&client%5Fsecret=***"),
    ] as [(MediaType, String, String)])
  func bodiesKeepWhatIsNotSecret(type: MediaType, body: String, shown: String) {
    let data = Data(body.utf8)

    #expect(String(decoding: Redaction.standard.redacted(data, type: type), as: UTF8.self) == shown)
    #expect(Redaction.off.redacted(data, type: type) == data)
  }

  @Test func aMultipartFormLosesTheContentOfSecretParts() {
    let body = """
      --b\r\nContent-Disposition: form-data; name="user"\r\n\r\nu\r\n--b\r
      Content-Disposition: form-data; name="password"\r\n\r\np1\r\np2\r\n--b\r
      Content-Disposition: form-data; name="meta"\r\nContent-Type: application/json\r\n\r\n{"token": 1}\r\n--b--\r\n
      """
    let expected = body.replacing("p1\r\np2", with: "***").replacing(#""token": 1"#, with: #""token": "***""#)
    let type: MediaType = "multipart/form-data; boundary=b"

    let shown = Redaction.standard.redacted(Data(body.utf8), type: type)

    #expect(String(decoding: shown, as: UTF8.self) == expected)
    #expect(
      !String(decoding: Redaction.standard.redacted(Data(body.utf8).prefix(120), type: type), as: UTF8.self)
        .contains("p1"))
  }

  @Test func descriptionsAndDumpsShowNoSecrets() throws {
    let secretURL = try #require(URL(string: "https://u:hidden@h/?token=hidden"))
    let fields: HTTPFields = [.authorization: "Bearer hidden", "X-API-Key": "hidden", .accept: "shown"]
    let request = RequestHead(url: secretURL, fields: fields)
    let response = ResponseHead(
      status: .ok, fields: [.setCookie: "a=hidden", .location: "/?code=hidden", .age: "shown"])
    var dumped = ""
    dump((request, response), to: &dumped)

    for text in ["\(request)", "\(response)", String(reflecting: [request]), dumped] {
      #expect(!text.contains("hidden"), "\(text)")
      #expect(text.contains("shown"), "\(text)")
    }
  }
}
