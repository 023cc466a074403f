package import Foundation
import Martlet
import MartletImages
import SAPFoundation
import SAPFoundationTesting
import SAPOData
import SAPStory

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An app with Mobile Services whose screen is a line of text.
///
/// A command that fails says so and goes on. A failure that the user asked for, with `fault` or as a user who may not
/// use the app, is marked as expected.
package final class Shell {
  private let session: SAPURLSession
  private let settings: SAPcpmsSettingsParameters
  private let login = Login()
  private let faults = FaultObserver()
  private let say: @Sendable (String) -> Void
  private let log = Logger.shared(named: "SAP.Shell")
  private var version = ODataVersion.v4
  private var isEnded = false

  /// Makes a shell for a gateway, and signs anna in.
  ///
  /// - Parameters:
  ///   - gateway: the gateway's URL.
  ///   - say: receives each line of output, on any thread.
  package init(gateway: URL, say: @escaping @Sendable (String) -> Void) {
    self.say = say
    session = SAPURLSession(configuration: .ephemeral)
    settings = SAPcpmsSettingsParameters(backendURL: gateway, applicationID: "com.example.shop")
    session.register(SAPcpmsObserver(settingsParameters: settings))
    session.register(CorrelationObserver())
    session.register(CSRFTokenObserver(rootUrl: gateway.appending(path: "odata/v4")))
    session.register(ApplicationVersionObserver())
    session.register(faults)
    session.register(BasicAuthenticationObserver(credentialDiscovery: login))
    login.credential = BasicCredential(username: "anna", password: "secret")
    log.logLevel = .info
  }

  /// The text before the user's input.
  package var prompt: String { "\(login.credential?.username ?? "nobody")> " }

  /// Runs commands until there are no more, or until `quit`.
  package func run(_ read: @Sendable (_ prompt: String) -> String?) async {
    say("The gateway is \(settings.backendURL.absoluteString), and you are anna. 'help' lists the commands.")
    while !isEnded, let line = read(prompt) { await run(line) }
  }

  /// Runs one command.
  package func run(_ line: String) async {
    // A terminal that edits lines itself adds the bytes of keys that it does not know, such as Home and End.
    let typed = line.replacing(/\u{1B}(\[[0-?]*[@-~]|O[@-~])/, with: "")
    let words = typed.split(separator: " ").map(String.init)
    guard let name = words.first else { return }
    guard let command = Self.commands.first(where: { $0.name == name }) else {
      return say("There is no command '\(name)': 'help' lists them.")
    }
    let arguments = Array(words.dropFirst())
    guard command.counts.contains(arguments.count) else { return say("Usage: \(command.usage)") }
    log.info("command \(name)")
    do {
      try await command.run(self)(arguments)
    } catch {
      say((isFailureExpected ? "Expected: " : "Failed: ") + Self.text(of: error))
    }
  }

  private var isFailureExpected: Bool {
    !faults.names.isEmpty || ["blocked", "locked", "wiped"].contains(login.credential?.username ?? "")
      || login.credential == nil
  }

  private static func text(of error: any Error) -> String {
    guard let error = error as? any LocalizedError else { return error.localizedDescription }
    return [error.errorDescription, error.failureReason.map { "(\($0))" }].compactMap(\.self).joined(separator: " ")
  }
}

// MARK: - Commands

extension Shell {
  private struct Command: Sendable {
    let usage, purpose: String
    let counts: ClosedRange<Int>
    let run: @Sendable (Shell) -> ([String]) async throws -> Void

    var name: String { String(usage.prefix { $0 != " " }) }
  }

  private static let commands: [Command] = [
    .init(usage: "orders [CUSTOMER]", purpose: "lists the orders, of all or of one", counts: 0...1, run: listOrders),
    .init(usage: "order CUSTOMER TOTAL", purpose: "creates an order", counts: 2...2, run: createOrder),
    .init(
      usage: "status ID TEXT", purpose: "updates an order, if nobody else has changed it", counts: 2...2,
      run: updateOrder),
    .init(usage: "picture", purpose: "loads a picture and shows its size", counts: 0...0, run: showPicture),
    .init(usage: "roles", purpose: "says who you are, and your roles", counts: 0...0, run: showRoles),
    .init(usage: "upload", purpose: "uploads the log", counts: 0...0, run: uploadLog),
    .init(
      usage: "fault [NAME...]", purpose: "chooses faults for the next commands; without a name, none", counts: 0...9,
      run: chooseFaults),
    .init(usage: "odata v2|v4", purpose: "chooses the version; v4 at first", counts: 1...1, run: chooseVersion),
    .init(
      usage: "login USER [PASSWORD]", purpose: "signs in as anna, ben, blocked, locked or wiped", counts: 1...2,
      run: signIn),
    .init(usage: "logout", purpose: "signs out", counts: 0...0, run: signOut),
    .init(usage: "help", purpose: "lists the commands", counts: 0...0, run: { shell in { _ in shell.say(help) } }),
    .init(usage: "quit", purpose: "ends", counts: 0...0, run: { shell in { _ in shell.isEnded = true } }),
  ]

  /// The commands and their purposes.
  static let help =
    "Commands:\n"
    + commands.map { "  " + $0.usage.padding(toLength: 24, withPad: " ", startingAt: 0) + $0.purpose }
    .joined(separator: "\n")

  private struct Order: Codable, Sendable {
    var ID: Int?
    var Customer: String
    var Status: String?
    var Total: Decimal?
  }

  private var orders: OnlineODataProvider {
    let root = settings.backendURL.appending(path: version == .v2 ? "odata/v2" : "odata/v4")
    let provider = OnlineODataProvider(serviceName: "Shop", serviceRoot: root, sapURLSession: session)
    provider.serviceOptions.dataVersion = version
    return provider
  }

  private func listOrders(_ arguments: [String]) async throws {
    var query = ODataQuery().top(20)
    if let customer = arguments.first { query = query.filter(ODataProperty("Customer") == .string(customer)) }
    let page = try await orders.page(of: Order.self, in: "Orders", query)
    for order in page.values {
      say("\(order.ID ?? 0)  \(order.Customer)  \(order.Total.map { "\($0)" } ?? "-")  \(order.Status ?? "-")")
    }
    if page.values.isEmpty { say("There are no orders.") }
  }

  private func createOrder(_ arguments: [String]) async throws {
    guard let total = Decimal(string: arguments[1]) else { return say("'\(arguments[1])' is not a number.") }
    let order = Order(Customer: arguments[0], Status: "open", Total: total)
    let created = try await orders.create(order, in: "Orders", returning: Order.self)
    say("Order \(created.value.ID ?? 0) is created.")
  }

  private func updateOrder(_ arguments: [String]) async throws {
    guard let id = Int(arguments[0]) else { return say("'\(arguments[0])' is not a number.") }
    let path = ODataPath("Orders").key(.int(id))
    let order = try await orders.entity(Order.self, at: path)
    try await orders.update(["Status": arguments[1]], at: path, ifMatch: order.etag)
    say("Order \(id) was \(order.value.Status ?? "-") and is \(arguments[1]).")
  }

  private func showPicture(_ arguments: [String]) async throws {
    let url = settings.backendURL.appending(path: "backend").odataMedia("Images", ODataKey(ExampleGateway.key))
    let (data, response) = try await session.data(from: url)
    let size = try ImageDecoder.decode(SAPURLError.checked(data, response)).size
    say("The picture has \(data.count) bytes and \(size.width)×\(size.height) pixels.")
  }

  private func showRoles(_ arguments: [String]) async throws {
    let user = try await SAPcpmsUserRoles(sapURLSession: session, settingsParameters: settings).load()
    let roles = user.roles.isEmpty ? "no roles" : user.roles.joined(separator: ", ")
    say("\(user.userName), \(user.emails.first ?? "no address"): \(roles)")
  }

  private func uploadLog(_ arguments: [String]) async throws {
    try await SAPcpmsLogUploader.uploadLogs(sapURLSession: session, settingsParameters: settings)
    say("The log is uploaded.")
  }

  private func chooseFaults(_ names: [String]) {
    if let unknown = names.first(where: { SAPGateway.Fault(rawValue: $0) == nil }) {
      return say(
        "There is no fault '\(unknown)'. These are:\n"
          + SAPGateway.Fault.allCases.map { "  \($0.rawValue)" }.joined(separator: "\n"))
    }
    faults.names = names
    say(names.isEmpty ? "No faults." : "Faults: \(names.joined(separator: ", "))")
  }

  private func chooseVersion(_ arguments: [String]) {
    guard arguments[0] == "v2" || arguments[0] == "v4" else { return say("Usage: odata v2|v4") }
    version = arguments[0] == "v2" ? .v2 : .v4
    say("OData \(arguments[0])")
  }

  private func signIn(_ arguments: [String]) async throws {
    await leave()
    login.credential = BasicCredential(username: arguments[0], password: arguments.count > 1 ? arguments[1] : "secret")
    do { try await showRoles([]) } catch SAPcpmsUserRolesError.invalidHTTPStatus(statusCode: 401) {
      login.credential = nil
      say("Refused: \(arguments[0]) has another name or password. Nobody is signed in.")
    }
  }

  private func signOut(_ arguments: [String]) async throws {
    await leave()
    say("Signed out.")
  }

  /// Ends the session of the gateway, and forgets cookies, credentials, tokens and responses.
  private func leave() async {
    var request = URLRequest(url: settings.backendURL.appending(path: "mobileservices/sessions/logout"))
    request.httpMethod = "POST"
    _ = try? await session.data(for: request)
    login.credential = nil
    session.clearCredentials()
  }
}
