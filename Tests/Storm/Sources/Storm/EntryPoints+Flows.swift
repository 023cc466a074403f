import Foundation
import SAPFioriFlows

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension EntryPoint {
  /// Flows of onboarding, whose steps send a request.
  static let sapFlows: [EntryPoint] = [
    EntryPoint("SAP: a flow") { service, ticket in
      let fetching = Fetching(url: service.url("/uri?\(ticket.mark)"), ticket: ticket)
      let steps: [any OnboardingStep] = [
        CompositeStep(steps: [Noting(ticket: ticket), fetching]), Noting(ticket: ticket),
      ]
      let context = OnboardingContext(
        sapURLSession: SAPURLSession(configuration: .ephemeral, connection: service.connection))
      return try await OnboardingFlowController.onboard(on: steps, context: context).info[.fetched] as? String
    },
    EntryPoint("SAP: open a session with a flow, whose user is removed") { service, ticket in
      let manager = manager(service, ticket)
      return Operation {
        manager.open { error in
          ticket.complete(error.map { .failure($0) } ?? .answer(manager.onboardingSession?.text))
        }
      } cancel: {
        manager.removeSession { _ in }
      }
    },
    EntryPoint("SAP: lock and unlock a session with a flow") { service, ticket in
      let manager = manager(service, ticket)
      let session = try await manager.open()
      async let locked: Void = manager.lock()
      ticket.note()
      try await manager.unlock()
      try await locked
      try await manager.unlock()
      let text = session.text
      try await manager.removeSession()
      return text
    },
  ]

  private static func manager(_ service: StormService, _ ticket: Ticket) -> OnboardingSessionManager<FetchedSession> {
    OnboardingSessionManager(
      presentationDelegate: NoApplicationUI(), flowProvider: Flows(service: service, ticket: ticket),
      onboardingIDManager: Nobody())
  }
}

extension OnboardingInfoKey {
  fileprivate static let fetched = Self("fetched")
}

private final class FetchedSession: OnboardingSession {
  let text: String?

  required init(flow: OnboardingFlow) {
    text = flow.context.info[.fetched] as? String
    super.init(flow: flow)
  }
}

private final class Flows: OnboardingFlowProviding {
  private let service: StormService
  private let ticket: Ticket

  init(service: StormService, ticket: Ticket) { (self.service, self.ticket) = (service, ticket) }

  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    var context = OnboardingContext(
      sapURLSession: SAPURLSession(configuration: .ephemeral, connection: service.connection))
    if case .reset(let id) = flowType { context.onboardingID = id }
    let fetching = Fetching(url: service.url("/uri?\(ticket.mark)"), ticket: ticket)
    completionHandler(
      OnboardingFlow(flowType: flowType, context: context, steps: [Noting(ticket: ticket), fetching]), nil)
  }
}

/// Remembers no user.
private final class Nobody: OnboardingIDManaging {
  func flowToStart(completionHandler: @escaping @Sendable (OnboardingFlow.FlowType) -> Void) {
    completionHandler(.onboard)
  }

  func store(onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }

  func remove(onboardingID: UUID, completionHandler: () -> Void) { completionHandler() }
}

/// Lets each step be the moment of the cancellation.
private final class Noting: OnboardingStep {
  private let ticket: Ticket

  init(ticket: Ticket) { self.ticket = ticket }

  func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ticket.note()
    completionHandler(.success(context))
  }

  func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    onboard(context: context, completionHandler: completionHandler)
  }
}

private final class Fetching: AsyncOnboardingStep {
  private let url: URL
  private let ticket: Ticket

  init(url: URL, ticket: Ticket) { (self.url, self.ticket) = (url, ticket) }

  func onboard(context: OnboardingContext) async throws -> OnboardingContext {
    ticket.note()
    let data = try await context.sapURLSession.data(from: url).0
    ticket.note()
    var context = context
    context.info[.fetched] = String(decoding: data, as: UTF8.self)
    return context
  }
}
