import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import MartletCombine
import MartletCombineFoundation
import MartletTesting
import TestSupport
import Testing

/// The publishers of notifications, timers and data tasks.
@Suite(.timeLimit(.minutes(5)))
struct FoundationPublisherTests {
  @Test func notificationsAreDeliveredUntilTheSubscriberCancels() {
    let (center, name) = (NotificationCenter(), Notification.Name("name"))
    let (object, values) = (NSObject(), Log<Int>())
    let subscription = center.publisher(for: name, object: object)
      .compactMap { $0.userInfo?["number"] as? Int }.sink { values.append($0) }
    func post(_ number: Int, _ name: Notification.Name, _ object: NSObject) {
      center.post(name: name, object: object, userInfo: ["number": number])
    }

    post(1, name, object)
    post(2, Notification.Name("other"), object)
    post(3, name, NSObject())
    post(4, name, object)
    subscription.cancel()
    post(5, name, object)

    #expect(values.entries == [1, 4])
  }

  @Test func aTimerDeliversDatesFromItsConnectionOn() async {
    let loop = LoopThread()
    defer { loop.end() }
    let timer = Timer.publish(every: 0.001, on: loop.runLoop, in: .default)
    let (kept, start) = (Log<AnyCancellable>(), Date())
    let dates = await withCheckedContinuation { (done: CheckedContinuation<[Date], Never>) in
      kept.append(timer.prefix(3).collect().sink { done.resume(returning: $0) })
      kept.append(AnyCancellable(timer.connect()))
    }
    #expect(dates.count == 3 && dates == dates.sorted())
    #expect(dates[0] >= start)
  }

  @Test func aDataTaskDeliversItsResponseAndItsBody() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = URLSession(configuration: .ephemeral)
    var values = session.dataTaskPublisher(for: server.url("/")).values.makeAsyncIterator()

    let value = try #require(try await values.next())

    #expect(String(decoding: value.data, as: UTF8.self) == "hello")
    #expect((value.response as? HTTPURLResponse)?.statusCode == 200)
    #expect(try await values.next() == nil)
  }

  @Test func aFailureOfADataTaskIsItsError() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let url = server.url("/")
    server.stop()
    let session = URLSession(configuration: .ephemeral)

    let error = await #expect(throws: URLError.self) {
      for try await _ in session.dataTaskPublisher(for: url).values {}
    }

    #expect(error?.code == .cannotConnectToHost)
  }
}
