import MartletTasks
import MartletTasksTesting
import MartletTesting
import Synchronization
import Testing

@Suite("An account that logs in, renews and logs out", .timeLimit(.minutes(5))) struct AccountTests {
  private let changes = Changes()

  private final class Changes: Sendable {
    private let tokens = Mutex<[String?]>([])
    var values: [String?] { tokens.withLock { $0 } }
    func note(_ token: AccessToken?) { tokens.withLock { $0.append(token?.value) } }
  }

  /// An account and its service, which answers `shop` only with the token.
  private func make(
    valid: String, token: AccessToken? = nil, endpoints: AccountAuthenticator.Endpoints = .init()
  ) -> (AccountAuthenticator, MockSession) {
    let holder = SessionHolder()
    let account = AccountAuthenticator(token: token, endpoints: endpoints, session: holder) { [changes] in
      changes.note($0)
    }
    let mock = makeMock(authenticator: account)
    holder.session.withLock { $0 = mock }
    mock["shop"] = .closure {
      $0.fields[.authorization] == "Bearer \(valid)" ? .response(json: shopJSON) : .response(status: 401)
    }
    return (account, mock)
  }

  /// The session is made with the account, and the account with the session.
  private final class SessionHolder: NetworkSession {
    let session = Mutex<MockSession?>(nil)
    var decoder: any NetworkResponseDecoder { JSONResponseDecoder() }

    func response(to request: NetworkRequest) async -> NetworkResponse<Data> {
      guard let session = session.withLock({ $0 }) else {
        return NetworkResponse(result: .failure(NetworkError.unknown))
      }
      return await session.response(to: request)
    }
  }

  private func shop(_ session: MockSession) -> NetworkTask<Shop> {
    NetworkRequest().path("shop").task(session: session)
  }

  @Test(arguments: [
    #"{"access_token": "a1", "refresh_token": "r1", "token_type": "bearer", "expires_in": 60}"#,
    #"{"accessToken": "a1", "expiresIn": "60"}"#, #"{"accessToken": "a1", "refreshToken": "r1"}"#,
    #"{"access": "a1", "refresh": "r1"}"#, #"{"token": "a1"}"#,
  ])
  func tokenOfALoginIsSentWithWhatFollows(answer: String) async throws {
    let (account, mock) = make(valid: "a1")
    mock["account/login"] = .response(json: answer)

    try await account.logIn(["user": "anna", "password": "secret"])

    #expect(try await shop(mock).value().title == "Shoes")
    #expect(mock.requests.map(\.method) == [.post, .get])
    #expect(try mock.requests[0].body(as: [String: String].self) == ["user": "anna", "password": "secret"])
    #expect(changes.values == ["a1"])
  }

  @Test(arguments: [("0", false), ("-5", false), ("\"never\"", false), ("60", true), ("\"60\"", true)])
  func lifetimeThatIsNoPositiveNumberIsUnknown(seconds: String, isKnown: Bool) async throws {
    let (account, mock) = make(valid: "a1")
    mock["account/login"] = .response(json: #"{"access_token": "a1", "expires_in": \#(seconds)}"#)
    try await account.logIn(["user": "anna"])
    #expect((await account.token?.expires != nil) == isKnown)
  }

  @Test func tokenThatNeedsAProofIsAnErrorThatNamesItsType() async throws {
    let (account, mock) = make(valid: "a1")
    mock["account/login"] = .response(json: #"{"access_token": "a1", "token_type": "DPoP"}"#)
    let error = await #expect(throws: (any Error).self) { try await account.logIn(["user": "anna"]) }
    #expect(error.map { "\($0)".contains("'DPoP'") } == true)
    #expect(await account.token == nil)
  }

  @Test func wrongPasswordIsTheServicesMessageAndNothingChanges() async throws {
    let (account, mock) = make(valid: "a1", token: AccessToken("a1"))
    mock["account/login"] = .response(json: #"{"message": "wrong password"}"#, status: 401)

    let error = await #expect(throws: NetworkError.self) { try await account.logIn(["user": "anna"]) }

    #expect(error?.description == "wrong password (401)")
    #expect(mock.requests.count == 1)
    #expect(await account.token?.value == "a1")
  }

  @Test func registrationLogsIn() async throws {
    let (account, mock) = make(valid: "a1")
    mock["account/register"] = .response(json: #"{"token": "a1"}"#, status: 201)
    try await account.register(["mail": "anna@example.com"])
    #expect(await account.token?.value == "a1")
  }

  @Test func expiredTokenIsRenewedAndKeepsItsRefreshToken() async throws {
    let (account, mock) = make(valid: "a2", token: AccessToken("a1", refreshToken: "r1"))
    mock["account/refresh-token", body: "r1"] = .response(json: #"{"access_token": "a2"}"#)

    #expect(try await shop(mock).value().title == "Shoes")

    let renewal = try #require(mock.requests(to: "refresh-token").first)
    #expect(renewal.fields[.authorization] == "Bearer a1")
    #expect(await account.token == AccessToken("a2", refreshToken: "r1"))
  }

  @Test func whoHasNoTokenBecomesAGuest() async throws {
    let (account, mock) = make(valid: "guest")
    mock["account/guest-token"] = .response(json: #"{"token": "guest"}"#)
    #expect(try await shop(mock).value().title == "Shoes")
    #expect(await account.token?.value == "guest")

    var endpoints = AccountAuthenticator.Endpoints()
    endpoints.guest = nil
    let (_, closed) = make(valid: "guest", endpoints: endpoints)
    #expect(await shop(closed).execute().statusCode == 401)
    #expect(closed.requests.count == 1)
  }

  @Test func refusedGuestIsNoLogout() async throws {
    let (account, mock) = make(valid: "guest")
    let user = await account.userIdentifier
    mock["account/guest-token"] = .response(status: 404)

    #expect(await shop(mock).execute().statusCode == 401)

    #expect(mock.requests(to: "guest-token").count == 1)
    #expect(await account.userIdentifier == user)
    #expect(changes.values.isEmpty)
  }

  @Test func refusedRenewalLogsOutInSilence() async throws {
    let (account, mock) = make(valid: "a2", token: AccessToken("a1"))
    let user = await account.userIdentifier
    mock["account/refresh-token"] = .response(status: 400)

    let response = await shop(mock).execute()

    #expect(response.statusCode == 401)
    #expect(response.error is NetworkError)
    #expect(await account.token == nil)
    #expect(await account.userIdentifier != user)
    #expect(changes.values == [nil])
  }

  @Test func renewalThatFailsOnTheWayKeepsTheToken() async throws {
    let (account, mock) = make(valid: "a2", token: AccessToken("a1"))
    mock["account/refresh-token"] = .response(status: 503)

    #expect((await shop(mock).execute().error as? HTTPError)?.kind == .authenticationFailed)

    #expect(await account.token?.value == "a1")
    #expect(changes.values.isEmpty)
  }

  /// 407, 421 and 425 are about the way to the service, and a 404 about its address.
  @Test(arguments: [404, 405, 407, 408, 421, 425, 429, 500, 502, 503, 504] as [HTTPStatus])
  func renewalThatIsNotDecidedKeepsTheToken(_ status: HTTPStatus) async throws {
    let (account, mock) = make(valid: "a2", token: AccessToken("a1", refreshToken: "r1"))
    mock["account/refresh-token"] = .response(json: #"{"error": "other"}"#, status: status)

    #expect((await shop(mock).execute().error as? HTTPError)?.kind == .authenticationFailed)

    #expect(await account.token?.value == "a1")
    #expect(changes.values.isEmpty)
  }

  @Test(
    arguments: [
      (200, #"{"error": "bad_refresh_token"}"#), (400, ""), (401, ""), (403, #"{"error": "invalid_grant"}"#), (422, ""),
    ] as [(HTTPStatus, String)])
  func refusedRenewalLogsOut(_ status: HTTPStatus, _ body: String) async throws {
    let (account, mock) = make(valid: "a2", token: AccessToken("a1", refreshToken: "r1"))
    mock["account/refresh-token"] = .response(json: body, status: status)
    #expect(await shop(mock).execute().statusCode == 401)
    #expect(await account.token == nil)
    #expect(changes.values == [nil])
  }

  @Test(arguments: ["", "a\nb", "ä"]) func tokenThatCannotBeSentIsNoLogin(_ token: String) async throws {
    let (account, mock) = make(valid: "a1")
    let body = try JSONEncoder().encode(["access_token": token])
    mock["account/login"] = .response(json: String(decoding: body, as: UTF8.self))
    await #expect(throws: DecodingError.self) { try await account.logIn(["user": "anna"]) }
    #expect(await account.token == nil)
  }

  @Test func logoutHoldsAtOnceWhateverTheServiceSays() async throws {
    let (account, mock) = make(valid: "a1", token: AccessToken("a1"))
    let user = await account.userIdentifier
    let told = Mutex<[Bool]>([])
    mock["account/logout"] = .closure { [account] request in
      let isOut = await account.token == nil && request.fields[.authorization] == "Bearer a1"
      told.withLock { $0.append(isOut) }
      return .response(status: 500)
    }

    await account.logOut()
    await account.logOut()

    #expect(told.withLock { $0 } == [true])
    #expect(await account.userIdentifier != user)
    #expect(await shop(mock).execute().statusCode == 401)
    #expect(mock.requests(to: "shop").map { $0.fields[.authorization] } == [nil])
  }

  @Test func anotherUsersLoginKeepsNothingOfTheOneBefore() async throws {
    let (account, mock) = make(valid: "b1", token: AccessToken("a1", refreshToken: "r1"))
    mock["account/login"] = .response(json: #"{"token": "b1"}"#)
    try await account.logIn(["user": "berta"])
    #expect(await account.token == AccessToken("b1"))
  }

  @Test func answersThatComeAfterALogoutAreThrownAway() async throws {
    let (account, mock) = make(valid: "late", token: AccessToken("a1"))
    let (login, renewal, asked) = (Gate(), Gate(), Counter())
    let (bothAsked, tell) = AsyncStream.makeStream(of: Void.self)
    func late(_ gate: Gate) -> MockResponder {
      .closure { _ in
        if asked.next() == 2 { tell.yield() }
        try await gate.wait()
        return .response(json: #"{"token": "late"}"#)
      }
    }
    mock["account/login"] = late(login)
    mock["account/refresh-token"] = late(renewal)
    mock["account/logout"] = .response()
    let loggedIn = Task { try await account.logIn(["user": "anna"]) }
    async let shown = shop(mock).execute()
    for await _ in bothAsked { break }

    await account.logOut()
    login.open()
    renewal.open()

    await #expect(throws: CancellationError.self) { try await loggedIn.value }
    #expect(await shown.statusCode == 401)
    #expect(await account.token == nil)
    #expect(changes.values == [nil])
  }
}
