import Foundation
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import SAPFoundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An observer that adds its name to a field.
func tagging(_ name: String) -> ObserverProbe {
  ObserverProbe(name) { probe in
    probe.onSend = { _, request in
      var request = request
      let before = request.value(forHTTPHeaderField: "X-Tags").map { $0 + "," } ?? ""
      request.setValue(before + name, forHTTPHeaderField: "X-Tags")
      return .allow(request)
    }
  }
}

@Suite("Modifying the request", .timeLimit(.minutes(5)))
struct RequestTests {
  @Test func anObserverGetsTheChangesOfThePreviousOne() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Tags"] ?? "") }
    let session = SAPURLSession.uncached(tagging("a"), tagging("b"), tagging("c"))

    #expect(await session.outcome(of: server.url("/")).text == "a,b,c")
  }

  @Test func everythingOfTheRequestCanBeChanged() async throws {
    let server = try LoopbackServer { .text("\($0.method) \($0.target) \($0.text) \($0.fields["X-Old"] ?? "-")") }
    let target = server.url("/new?a=1")
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        var request = request
        request.url = target
        request.httpMethod = "PATCH"
        request.httpBody = Data("changed".utf8)
        request.setValue(nil, forHTTPHeaderField: "X-Old")
        return .allow(request)
      }
    }
    var request = URLRequest("POST", server.url("/old"), body: "original")
    request.setValue("there", forHTTPHeaderField: "X-Old")

    #expect(await SAPURLSession.uncached(probe).outcome(of: request).text == "PATCH /new?a=1 changed -")
  }

  @Test func nothingCanBeSmuggledInWithAField() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        var request = request
        request.setValue("a\r\nX-Injected: b", forHTTPHeaderField: "X-Bad")
        return .allow(request)
      }
    }

    let outcome = await SAPURLSession.uncached(probe).outcome(of: server.url("/"))

    // Foundation on Linux drops such a field; on other platforms the engine fails the task
    #expect(server.requests.count == 1 || outcome.error != nil)
    #expect(server.requests.allSatisfy { !$0.fields.contains("X-Injected") && !$0.fields.contains("X-Bad") })
  }

  @Test func whatWasAddedForOneOriginIsNotCarriedToTheNext() async throws {
    let other = try LoopbackServer { .text($0.fields["X-Key"] ?? "no key") }
    let target = other.url("/").absoluteString
    let server = try LoopbackServer { _ in .redirect(to: target) }
    let port = server.port
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        guard request.url?.port == port else { return .allow(request) }
        var request = request
        request.setValue("secret", forHTTPHeaderField: "X-Key")
        return .allow(request)
      }
    }

    #expect(await SAPURLSession.uncached(probe).outcome(of: server.url("/")).text == "no key")
    #expect(server.requests.first?.fields["X-Key"] == "secret")
  }
}

@Suite("Modifying the response", .timeLimit(.minutes(5)))
struct ResponseTests {
  @Test func handlerAndNextObserverGetTheReplacedOne() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let made = try #require(
      HTTPURLResponse(
        url: server.url("/made"), statusCode: 299, httpVersion: nil, headerFields: ["X-Made": "yes"]))
    let first = ObserverProbe { $0.onResponse = { _, _ in .allow(made) } }
    let second = ObserverProbe()

    let outcome = await SAPURLSession.uncached(first, second).outcome(of: server.url("/"))

    #expect(outcome.response === made)
    #expect(outcome.text == "hello")
    #expect(second.log.contains("response 299"))
  }
}

@Suite("Optional methods", .timeLimit(.minutes(5)))
struct OptionalMethodTests {
  private final class Nothing: SAPURLSessionObserving, SAPURLSessionDelegate {}

  private final class Checked: SAPURLSessionObserver {
    override func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      var request = request
      request.setValue("yes", forHTTPHeaderField: "X-Checked")
      completionHandler(.allow(request))
    }
  }

  @Test func anObserverWithoutMethodsChangesNothing() async throws {
    let server = try LoopbackServer { $0.path == "/there" ? .text("hello") : .redirect(to: "/there") }
    let both = Nothing()
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: both)
    session.register(both)

    #expect(await session.outcome(of: server.url("/")).text == "hello")
    #expect(both.copy() == nil)
  }

  @Test func aSubclassOfTheObserverIsCheckedByTheCompilerAndCalled() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Checked"] ?? "no") }

    #expect(await SAPURLSession.uncached(Checked()).outcome(of: server.url("/")).text == "yes")
  }
}

@Suite("The order of observers", .timeLimit(.minutes(5)))
struct OrderTests {
  /// Answers on another thread, and then again.
  private final class Late: SAPURLSessionObserving, Sendable {
    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      Thread.detachNewThread {
        var request = request
        request.setValue("late", forHTTPHeaderField: "X-Tags")
        completionHandler(.allow(request))
        completionHandler(.cancel(TestFailure(name: "second answer")))
      }
    }
  }

  @Test func anObserverIsAskedAfterThePreviousOneHasAnswered() async throws {
    let server = try LoopbackServer { .text($0.fields["X-Tags"] ?? "") }

    let outcome = await SAPURLSession.uncached(Late(), tagging("after")).outcome(of: server.url("/"))

    #expect(outcome.text == "late,after")
  }

  @Test func callbacksRunOnTheDelegateQueueOneAtATime() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let inside = Atomic(0)
    let probe = ObserverProbe { probe in
      probe.onSend = { _, request in
        #expect(inside.add(1, ordering: .relaxed).newValue == 1)
        #expect(OperationQueue.current === queue)
        inside.subtract(1, ordering: .relaxed)
        return .allow(request)
      }
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegateQueue: queue)
    session.register(probe)

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask { #expect(await session.outcome(of: server.url("/\(number)")).text == "hello") }
      }
    }
    #expect(session.delegateQueue === queue)
    #expect(probe.log.filter { $0 == "send" }.count == 20)
  }
}

@Suite("A final answer", .timeLimit(.minutes(5)))
struct FinalAnswerTests {
  @Test func remainingObserversAndTheDelegateAreNotAsked() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let first = ObserverProbe { $0.onSend = { _, _ in .cancel(TestFailure(name: "no")) } }
    let (second, delegate) = (ObserverProbe(), DelegateProbe())
    let session = SAPURLSession(configuration: SAPURLSession.plain, delegate: delegate)
    session.register(first)
    session.register(second)

    let outcome = await session.outcome(of: server.url("/"))

    #expect(outcome.error as? TestFailure == TestFailure(name: "no"))
    #expect(second.log == ["failed"])
    #expect(delegate.log == ["failed"])
    #expect(server.requests.isEmpty)
  }
}

@Suite("Sending again", .timeLimit(.minutes(5)))
struct ResendTests {
  @Test func itIsTheSameTaskAndItsCallerDoesNotNotice() async throws {
    let server = try LoopbackServer { request in
      request.fields["X-Again"] == nil ? .text("first", status: .unauthorized) : .text("second: \(request.text)")
    }
    let ids = Mutex<Set<UUID>>([])
    let backing = Mutex<[Int]>([])
    let probe = ObserverProbe { probe in
      probe.onCreate = { task, created in
        ids.withLock { _ = $0.insert(task.taskID) }
        backing.withLock { $0.append(created.taskIdentifier) }
      }
      probe.onResponse = { task, response in
        guard (response as? HTTPURLResponse)?.statusCode == 401, var again = task.originalRequest else {
          return .allow(response)
        }
        again.setValue("yes", forHTTPHeaderField: "X-Again")
        return .resend(again)
      }
    }
    let session = SAPURLSession.uncached(probe)

    let outcome = await session.outcome(of: URLRequest("POST", server.url("/"), body: "body"))

    #expect(outcome.text == "second: body")
    #expect(ids.withLock { $0.count } == 1)
    #expect(Set(backing.withLock { $0 }).count == 2)
    #expect(
      probe.log == [
        "send", "create", "response 401", "send", "create", "response 200", "data second: body", "complete",
      ])
  }

  @Test func anObserverThatAlwaysResendsEndsWithAnError() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let probe = ObserverProbe { probe in
      probe.onResponse = { task, response in task.originalRequest.map { .resend($0) } ?? .allow(response) }
    }

    let outcome = await SAPURLSession.uncached(probe).outcome(of: server.url("/"))

    #expect((outcome.error as? URLError)?.underlyingHTTPError?.kind == .tooManyAttempts)
    #expect(server.requests.count == 21)
  }

  @Test func whatOnlyTheLastAttemptCarriedIsNotTheResentRequests() async throws {
    let server = try LoopbackServer { request in
      .text(
        "\(request.fields["X-Token"] ?? "-") \(request.fields["X-Again"] ?? "-")",
        status: request.path == "/" ? .unauthorized : .ok)
    }
    let next = server.url("/next")
    let tokens = Atomic(0)
    let token = ObserverProbe { probe in
      probe.onSend = { _, request in
        guard request.url?.path == "/", request.value(forHTTPHeaderField: "X-Token") == nil else {
          return .allow(request)
        }
        var request = request
        request.setValue("\(tokens.add(1, ordering: .relaxed).newValue)", forHTTPHeaderField: "X-Token")
        return .allow(request)
      }
      probe.onResponse = { task, response in
        guard (response as? HTTPURLResponse)?.statusCode == 401, var again = task.currentRequest else {
          return .allow(response)
        }
        again.setValue("yes", forHTTPHeaderField: "X-Again")
        if again.value(forHTTPHeaderField: "X-Token") == "2" { again.url = next }
        return .resend(again)
      }
    }

    #expect(await SAPURLSession.uncached(token).outcome(of: server.url("/")).text == "- yes")
    #expect(server.requests.map { $0.fields["X-Token"] } == ["1", "2", nil])
  }

  @Test func aRedirectIsNoNewBackingTask() async throws {
    let server = try LoopbackServer { $0.path == "/there" ? .text("hello") : .redirect(to: "/there") }
    let probe = ObserverProbe()

    _ = await SAPURLSession.uncached(probe).outcome(of: server.url("/"))

    #expect(
      probe.log == ["send", "create", "redirect 302", "send", "response 200", "data hello", "complete"])
  }
}
