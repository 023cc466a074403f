import MartletCombine
import Testing

extension Owned {
  /// Returns the value: a closure that calls this holds the object.
  fileprivate func passing<Value>(_ value: Value) -> Value { value }
}

/// What operators with one upstream release at the end: their closures and values, their upstream, their downstream and
/// the publishers that they attach.
@Suite(.timeLimit(.minutes(5)))
struct LinearLifetimeTests {
  typealias Numbers = Source<Int, Oops>

  enum End: CaseIterable {
    case finished, failed, cancelled
  }

  /// What must be gone after the end.
  struct Witnesses: @unchecked Sendable {
    // SAFETY: used by one test.
    weak var owned: Owned?
    weak var upstream: Numbers.Subscription?
    weak var inner: Numbers.Subscription?
    weak var downstream: AnyObject?
    /// What the subscriber keeps: the operator's subscription, or that of the source.
    var subscription: (any Subscription)?
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let run: @Sendable ([Int], End) -> Witnesses

    /// - Parameter make: makes the publisher from a source, an object that the operator is to hold, and another source
    ///   that it may attach.
    init<P: Publisher & SendableMetatype>(_ name: String, _ make: @escaping @Sendable (Numbers, Owned, Numbers) -> P) {
      testDescription = name
      run = { values, end in
        let (source, inner, owned, keeper) = (Numbers(), Numbers(), Owned(), Keeper<P.Output, P.Failure>())
        make(source, owned, inner).subscribe(keeper)
        var witnesses = Witnesses(owned: owned, upstream: source.subscription, downstream: keeper)
        for value in values { source.send(value) }
        switch end {
        case .finished: source.send(completion: .finished)
        case .failed: source.send(completion: .failure(Oops(number: 1)))
        case .cancelled: keeper.subscription?.cancel()
        }
        witnesses.inner = inner.subscription
        inner.send(9)
        inner.send(completion: .finished)
        if !(keeper.subscription is Numbers.Subscription) { witnesses.subscription = keeper.subscription }
        return witnesses
      }
    }
  }

  /// A subscriber that keeps its subscription after the end.
  final class Keeper<Input, Failure: Error>: Subscriber {
    private(set) var subscription: (any Subscription)?
    private let demand: Subscribers.Demand

    init(asking demand: Subscribers.Demand = .unlimited) { self.demand = demand }

    func receive(subscription: any Subscription) {
      self.subscription = subscription
      if demand > .none { subscription.request(demand) }
    }

    func receive(_ input: Input) -> Subscribers.Demand { .none }

    func receive(completion: Subscribers.Completion<Failure>) {}
  }

  static let cases = mapping + filtering + positions + gathering + observing + following

  static let mapping: [Case] = [
    Case("map") { source, owned, _ in source.map { (owned, $0) } },
    Case("tryMap") { source, owned, _ in source.tryMap { (owned, $0) } },
    Case("map of tryMap") { source, owned, _ in source.tryMap { $0 }.map { (owned, $0) } },
    Case("map(keyPath)") { source, owned, _ in source.map(\.description) },
    Case("map of two key paths") { source, owned, _ in source.map(\.description, \.hashValue) },
    Case("map of three key paths") { source, owned, _ in source.map(\.description, \.hashValue, \.self) },
    Case("mapError") { source, owned, _ in source.mapError { error in owned.passing(error) } },
    Case("replaceNil") { source, owned, _ in source.map { Optional($0) }.replaceNil(with: 1) },
    Case("scan") { source, owned, _ in source.scan(owned) { last, _ in last } },
    Case("tryScan") { source, owned, _ in source.tryScan(owned) { last, _ in last } },
    Case("encode") { source, owned, _ in source.encode(encoder: Coder(owned: owned)) },
    Case("decode") { source, owned, _ in source.decode(type: Int.self, decoder: Coder(owned: owned)) },
    Case("setFailureType") { source, owned, _ in
      source.replaceError(with: 0).map { (owned, $0) }.setFailureType(to: Oops.self)
    },
    Case("assertNoFailure") { source, owned, _ in source.replaceError(with: 0).assertNoFailure() },
  ]

  static let filtering: [Case] = [
    Case("filter") { source, owned, _ in source.filter { _ in owned.passing(true) } },
    Case("tryFilter") { source, owned, _ in source.tryFilter { _ in owned.passing(true) } },
    Case("compactMap") { source, owned, _ in source.compactMap { $0 > 1 ? owned : nil } },
    Case("tryCompactMap") { source, owned, _ in source.tryCompactMap { $0 > 1 ? owned : nil } },
    Case("removeDuplicates") { source, owned, _ in source.map { _ in owned }.removeDuplicates { _, _ in false } },
    Case("tryRemoveDuplicates") { source, owned, _ in
      source.map { _ in owned }.tryRemoveDuplicates { _, _ in false }
    },
    Case("ignoreOutput") { source, owned, _ in source.map { (owned, $0) }.ignoreOutput() },
    Case("replaceEmpty") { source, owned, _ in source.map { _ in owned }.replaceEmpty(with: owned) },
  ]

  static let positions: [Case] = [
    Case("dropFirst") { source, owned, _ in source.map { _ in owned }.dropFirst(2) },
    Case("drop(while:)") { source, owned, _ in source.drop { _ in owned.passing(true) } },
    Case("tryDrop(while:)") { source, owned, _ in source.tryDrop { _ in owned.passing(true) } },
    Case("prefix") { source, owned, _ in source.map { _ in owned }.prefix(2) },
    Case("prefix(while:)") { source, owned, _ in source.prefix { owned.passing($0) < 3 } },
    Case("tryPrefix(while:)") { source, owned, _ in source.tryPrefix { owned.passing($0) < 3 } },
    Case("output(at:)") { source, owned, _ in source.map { _ in owned }.output(at: 1) },
    Case("output(in:)") { source, owned, _ in source.map { _ in owned }.output(in: 1...) },
    Case("first") { source, owned, _ in source.map { _ in owned }.first() },
    Case("first(where:)") { source, owned, _ in source.first { owned.passing($0) > 1 } },
    Case("tryFirst(where:)") { source, owned, _ in source.tryFirst { owned.passing($0) > 1 } },
    Case("last") { source, owned, _ in source.map { _ in owned }.last() },
    Case("last(where:)") { source, owned, _ in source.last { owned.passing($0) > 1 } },
    Case("tryLast(where:)") { source, owned, _ in source.tryLast { owned.passing($0) > 1 } },
  ]

  static let gathering: [Case] = [
    Case("collect") { source, owned, _ in source.map { _ in owned }.collect() },
    Case("collect(2)") { source, owned, _ in source.map { _ in owned }.collect(2) },
    Case("reduce") { source, owned, _ in source.reduce(owned) { last, _ in last } },
    Case("tryReduce") { source, owned, _ in source.tryReduce(owned) { last, _ in last } },
    Case("count") { source, owned, _ in source.map { _ in owned }.count() },
    Case("min") { source, owned, _ in source.min { owned.passing($0) < $1 } },
    Case("max") { source, owned, _ in source.max { owned.passing($0) < $1 } },
    Case("tryMin") { source, owned, _ in source.tryMin { owned.passing($0) < $1 } },
    Case("tryMax") { source, owned, _ in source.tryMax { owned.passing($0) < $1 } },
    Case("contains") { source, owned, _ in source.contains(2) },
    Case("contains(where:)") { source, owned, _ in source.contains { owned.passing($0) > 1 } },
    Case("tryContains(where:)") { source, owned, _ in source.tryContains { owned.passing($0) > 1 } },
    Case("allSatisfy") { source, owned, _ in source.allSatisfy { owned.passing($0) < 3 } },
    Case("tryAllSatisfy") { source, owned, _ in source.tryAllSatisfy { owned.passing($0) < 3 } },
  ]

  static let observing: [Case] = [
    Case("handleEvents") { source, owned, _ in
      source.handleEvents(
        receiveSubscription: { _ in _ = owned }, receiveOutput: { _ in _ = owned },
        receiveCompletion: { _ in _ = owned }, receiveCancel: { _ = owned }, receiveRequest: { _ in _ = owned })
    },
    Case("print") { source, owned, _ in source.print(to: Silence(owned: owned)) },
    Case("breakpoint") { source, owned, _ in
      source.breakpoint(receiveOutput: { _ in owned.passing(false) })
    },
    Case("breakpointOnError") { source, owned, _ in source.replaceError(with: 1).breakpointOnError() },
    Case("measureInterval") { source, owned, _ in
      source.map { _ in owned }.measureInterval(using: ImmediateScheduler.shared)
    },
    Case("eraseToAnyPublisher") { source, owned, _ in source.map { (owned, $0) }.eraseToAnyPublisher() },
    Case("Deferred") { source, owned, _ in Deferred { source.map { (owned, $0) } } },
  ]

  static let following: [Case] = [
    Case("catch") { source, owned, inner in source.catch { _ in owned.passing(inner) } },
    Case("tryCatch") { source, owned, inner in source.tryCatch { _ in owned.passing(inner) } },
    Case("tryCatch that throws") { source, owned, inner in
      source.tryCatch { error -> Numbers in throw owned.passing(error) }
    },
    Case("replaceError") { source, owned, _ in source.map { _ in owned }.replaceError(with: owned) },
    Case("retry") { source, owned, inner in
      let attempts = Attempts()
      return Deferred { () -> Publishers.Map<Numbers, Owned> in
        attempts.count += 1
        return (attempts.count == 1 ? source : inner).map { _ in owned }
      }.retry(1)
    },
    Case("append") { source, owned, inner in source.map { _ in owned }.append(inner.map { _ in owned }) },
    Case("append of values") { source, owned, _ in source.map { _ in owned }.append(owned, owned) },
    Case("prepend") { source, owned, inner in source.map { _ in owned }.prepend(Empty()) },
    Case("prepend of values") { source, owned, _ in source.map { _ in owned }.prepend(owned) },
  ]

  final class Attempts: @unchecked Sendable {
    // SAFETY: used by one test.
    var count = 0
  }

  struct Coder: TopLevelEncoder, TopLevelDecoder {
    let owned: Owned
    func encode<T: Encodable>(_ value: T) throws -> String { "\(value)" }
    func decode<T: Decodable>(_ type: T.Type, from: Int) throws -> T { throw Oops(number: from) }
  }

  struct Silence: TextOutputStream {
    let owned: Owned
    func write(_ string: String) {}
  }

  @Test(arguments: cases, End.allCases)
  func everythingIsReleasedAtTheEnd(_ item: Case, _ end: End) {
    for values in [[], [1, 2, 3]] {
      let witnesses = item.run(values, end)

      #expect(witnesses.owned == nil)
      #expect(witnesses.upstream == nil)
      #expect(witnesses.inner == nil)
      #expect(witnesses.downstream == nil)
    }
  }

  @Test func anOperatorWhoseSubscriptionIsReleasedIsReleased() {
    #expect(
      isReleased { owned in
        let source = Numbers()
        let subscription = source.removeDuplicates { owned.passing($0 == $1) }
          .tryMap { (owned, $0) }.catch { _ in Empty<(Owned, Int), Never>() }.sink { _ in }
        source.send(1)
        _ = subscription
      })
  }
}
