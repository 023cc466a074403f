public import Foundation
import Martlet
import MartletCombine
import MartletImages
import MartletTesting
import SAPFoundation
import SAPFoundationTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The actions of an app with Mobile Services in a day. Each step reports its result.
public struct SAPStory {
  private let service: MobileServices
  private let session = SAPURLSession()
  private let settings: SAPcpmsSettingsParameters
  private let say: @Sendable (String) -> Void

  /// Starts the service, and configures the session like an app.
  ///
  /// - Parameters:
  ///   - photo: a picture that the service has.
  ///   - say: receives the story, line by line.
  /// - Throws: if the picture cannot be read, or the service cannot be started.
  public init(photo: URL, say: @escaping @Sendable (String) -> Void) throws {
    self.say = say
    let picture = Media(try Data(contentsOf: photo))
    service = try MobileServices(
      .init(
        users: ["anna": "secret"], applicationID: "com.example.story", destinations: ["photos": "/backend"],
        media: ["It's coffee": picture]))
    settings = SAPcpmsSettingsParameters(
      backendURL: service.url, applicationID: "com.example.story", destinations: ["photos": "/backend"])

    session.register(SAPcpmsObserver(settingsParameters: settings))
    session.register(CorrelationObserver())
    session.register(LanguageObserver())
    session.register(CSRFTokenObserver(rootUrl: settings.backendURL))
    session.register(SAPcpmsUserBlockedObserver { error in say("Blocked: \(error.localizedDescription)") })
    let anna = BasicCredential(username: "anna", password: "secret")
    session.register(BasicAuthenticationObserver(credentialDiscovery: LoginScreen(anna, say: say)))
  }

  /// Runs the story from the beginning to the end.
  public func tell() async {
    await signIn()
    await order()
    await orderTooMuch()
    await show("From the network")
    service.stop()
    say("The service is gone.")
    await show("From the cache")
    session.clearCredentials()
    say("anna has signed out.")
    await show("After that")
  }

  private func signIn() async {
    let (_, status, _) = await send("GET", settings.backendURL)
    say("Signed in: \(status.map(String.init) ?? "no answer").")
  }

  private func order() async {
    let (_, status, task) = await send("POST", orders)
    let fetches = service.requests.filter { $0.fields["X-CSRF-Token"] == "Fetch" }.count
    say("Ordered: \(status ?? 0), with a CSRF token that took \(fetches) fetch.")
    say("Servers log it as \(task.correlationID == nil ? "nothing" : "the identifier of the task").")
  }

  private func orderTooMuch() async {
    service.answer(
      "/backend/Orders",
      with: .odataError(.v4, status: 400, code: "M_/011", message: "Only three cups are left."))
    let (error, _, _) = await send("POST", orders)
    say("Ordered too much: \(error?.localizedDescription ?? "") (\(error?.failureReason ?? ""))")
  }

  private func show(_ whence: String) async {
    let url = settings.url(destination: "photos").odataMedia("Images", "It's coffee")
    do {
      for try await image in session.getImage(for: url).values {
        say("\(whence): a picture of \(image.size.width)×\(image.size.height).")
      }
    } catch { say("\(whence): no picture, as it should be.") }
  }

  private var orders: URL { settings.url(destination: "photos").appending(path: "Orders") }

  private func send(_ method: String, _ url: URL) async -> (SAPURLError?, status: Int?, SAPURLSessionTask) {
    var request = URLRequest(url: url)
    request.httpMethod = method
    let (results, inbox) = AsyncStream<(SAPURLError?, Int?)>.makeStream()
    let task = session.dataTask(with: request) { data, response, error in
      let failure =
        error.map { SAPURLError($0) } ?? response.flatMap { SAPURLError(response: $0, data: data ?? Data()) }
      inbox.yield((failure, (response as? HTTPURLResponse)?.statusCode))
      inbox.finish()
    }
    task.resume()
    var result: (SAPURLError?, Int?)
    for await end in results { result = end }
    return (result.0, result.1, task)
  }
}
