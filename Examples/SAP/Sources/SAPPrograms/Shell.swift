package import Foundation
import Martlet
import MartletImages
import SAPFioriFlows
import SAPFoundationTesting
import SAPOData
import SAPStory

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An app with Mobile Services whose screen is a line of text: its users onboard, return, lock it and leave, as in an
/// app that SAP's tool generates.
///
/// A command that fails says so and goes on. A failure that the user asked for, with `fault` or `network` or as a user
/// who may not use the app, is marked as expected.
package final class Shell {
  private let manager: OnboardingSessionManager<OnboardingSession>
  private let users = MultiUserOnboardingIDManager()
  private let gateway: URL
  private let screens: Screens
  private let network = Network()
  private let errors: ErrorHandler
  private let read: @Sendable (String) -> String?
  private let say: @Sendable (String) -> Void
  private let log = Logger.shared(named: "SAP.Shell")
  private var version = ODataVersion.v4
  private var isEnded = false

  /// Makes a shell for a gateway. What it keeps of its users is in the program's folder.
  ///
  /// - Parameters:
  ///   - gateway: the gateway's URL.
  ///   - read: reads a command, or the answer to a question; nil ends the program. It may block.
  ///   - say: receives each line of output, on any thread.
  package init(
    gateway: URL, read: @escaping @Sendable (_ prompt: String) -> String?, say: @escaping @Sendable (String) -> Void
  ) {
    (self.gateway, self.read, self.say) = (gateway, read, say)
    screens = Screens(read: read, say: say)
    errors = ErrorHandler(screens, users, say: say)
    manager = OnboardingSessionManager(
      presentationDelegate: screens, flowProvider: ShopFlows(gateway, screens, network), onboardingIDManager: users,
      delegate: errors)
    log.logLevel = .info
  }

  /// Opens the app, and runs commands until there are no more, or until `quit`.
  package func run() async {
    say("The gateway is \(gateway.absoluteString). 'help' lists the commands.")
    await run("open")
    while !isEnded, let line = read("\(manager.state == .opened ? screens.userName : "\(manager.state)")> ") {
      await run(line)
    }
  }

  /// Runs one command.
  private func run(_ line: String) async {
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
      guard case LockWipePolicyError.trafficWiped = error, manager.state == .opened else { return }
      say(ErrorHandler.wiped)
      try? await manager.removeSession()
    }
  }

  private var isFailureExpected: Bool {
    network.isFaulty || ["blocked", "locked", "wiped"].contains(screens.userName)
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
      usage: "network off|on [N]", purpose: "loses the network, after N requests; or finds it again", counts: 1...2,
      run: changeNetwork),
    .init(usage: "open", purpose: "opens the app: a user onboards, or returns", counts: 0...0, run: open),
    .init(
      usage: "user NAME", purpose: "changes the user: anna, ben, blocked, locked or wiped", counts: 1...1,
      run: changeUser),
    .init(
      usage: "lock", purpose: "locks the app", counts: 0...0, run: { shell in { _ in try await shell.manager.lock() } }),
    .init(
      usage: "unlock", purpose: "unlocks it with the passcode", counts: 0...0,
      run: { shell in { _ in try await shell.manager.unlock() } }),
    .init(usage: "reset", purpose: "signs out, and removes everything of the user", counts: 0...0, run: reset),
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

  /// The session of the user.
  private var session: OnboardingSession {
    get throws {
      guard manager.state == .opened, let session = manager.onboardingSession else { throw NotOpen() }
      return session
    }
  }

  private var orders: OnlineODataProvider {
    get throws {
      let root = gateway.appending(path: version == .v2 ? "odata/v2" : "odata/v4")
      let provider = OnlineODataProvider(
        serviceName: "Shop", serviceRoot: root, sapURLSession: try session.sapURLSession)
      provider.serviceOptions.dataVersion = version
      return provider
    }
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
    let url = gateway.appending(path: "backend").odataMedia("Images", ODataKey(ExampleGateway.key))
    let (data, response) = try await session.sapURLSession.data(from: url)
    let size = try ImageDecoder.decode(SAPURLError.checked(data, response)).size
    say("The picture has \(data.count) bytes and \(size.width)×\(size.height) pixels.")
  }

  private func showRoles(_ arguments: [String]) async throws {
    guard let user = try await SAPcpmsUserRoles(session)?.load() else { return }
    let roles = user.roles.isEmpty ? "no roles" : user.roles.joined(separator: ", ")
    say("\(user.userName), \(user.emails.first ?? "no address"): \(roles)")
  }

  private func uploadLog(_ arguments: [String]) async throws {
    let session = try session
    guard let settings = session.settingsParameters else { return }
    try await SAPcpmsLogUploader.uploadLogs(sapURLSession: session.sapURLSession, settingsParameters: settings)
    say("The log is uploaded.")
  }

  private func chooseFaults(_ names: [String]) {
    if let unknown = names.first(where: { SAPGateway.Fault(rawValue: $0) == nil }) {
      return say(
        "There is no fault '\(unknown)'. These are:\n"
          + SAPGateway.Fault.allCases.map { "  \($0.rawValue)" }.joined(separator: "\n"))
    }
    network.faults = names
    say(names.isEmpty ? "No faults." : "Faults: \(names.joined(separator: ", "))")
  }

  private func chooseVersion(_ arguments: [String]) {
    guard arguments[0] == "v2" || arguments[0] == "v4" else { return say("Usage: odata v2|v4") }
    version = arguments[0] == "v2" ? .v2 : .v4
    say("OData \(arguments[0])")
  }

  private func changeNetwork(_ arguments: [String]) {
    let count = arguments.dropFirst().first.map { Int($0) } ?? 0
    guard ["on", "off"].contains(arguments[0]), let count, count >= 0 else { return say("Usage: network off|on [N]") }
    network.lose(after: arguments[0] == "off" ? count : nil)
    say(arguments[0] == "on" ? "There is a network." : count > 0 ? "The network ends soon." : "There is no network.")
  }

  // MARK: - Users

  private func open(_ arguments: [String]) async throws {
    let known = try users.users()
    switch users.next {
    case .newUser(let name): screens.userName = name
    case .user(let id): screens.userName = known.first { $0.onboardingID == id }?.name ?? ""
    case .lastUser:
      if let last = known.first {
        screens.userName = last.name
      } else if let name = read("Your name: "), !name.isEmpty {
        (screens.userName, users.next) = (name, .newUser(name: name))
      } else {
        return
      }
    }
    let isNew = !known.contains { $0.name == screens.userName }
    let session = try await manager.open()
    say("\(isNew ? "Hello" : "Hello again"), \(screens.userName): \(session.sapURLSession.observers.count) observers.")
  }

  private func changeUser(_ arguments: [String]) async throws {
    try await manager.close()
    let known = try users.users().first { $0.name == arguments[0] }
    users.next = known.map { .user(onboardingID: $0.onboardingID) } ?? .newUser(name: arguments[0])
    try await open([])
  }

  /// Ends the session of the gateway, and removes all that is kept of the user.
  private func reset(_ arguments: [String]) async throws {
    var request = URLRequest(url: gateway.appending(path: "mobileservices/sessions/logout"))
    request.httpMethod = "POST"
    if manager.state == .opened { _ = try? await session.sapURLSession.data(for: request) }
    try await manager.removeSession()
    say("Everything of \(screens.userName) is removed.")
  }
}

/// There is no session, because nobody is signed in, or because the app is locked.
private struct NotOpen: LocalizedError {
  var errorDescription: String? { "the app is not open: 'open' and 'unlock' open it." }
}
