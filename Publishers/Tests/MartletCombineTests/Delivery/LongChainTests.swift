import Foundation
import MartletCombine
import Testing

/// Chains of operators that hold one upstream after another, on a thread with the stack of a secondary thread of
/// Apple's platforms: a level takes nothing of it.
@Suite(.timeLimit(.minutes(5)))
struct LongChainTests {
  typealias Numbers = AnyPublisher<Int, Oops>

  struct Oops: Error, Equatable {
    let number: Int
  }

  /// Not more, because the release of a chain takes some 200 bytes a level in debug.
  private static let length = 1500
  private static let stackSize = 512 << 10

  private static var just: Numbers { Just(0).setFailureType(to: Oops.self).eraseToAnyPublisher() }

  private static func failed(_ number: Int) -> Numbers { Fail(error: Oops(number: number)).eraseToAnyPublisher() }

  /// Subscribes on a thread of its own. Returns the values and the completion.
  private func received(from publisher: Numbers) async -> (values: [Int], completion: Subscribers.Completion<Oops>?) {
    await withCheckedContinuation { continuation in
      nonisolated(unsafe) let publisher = publisher
      let thread = Thread {
        var values: [Int] = []
        var completion: Subscribers.Completion<Oops>?
        let cancellable = publisher.sink {
          completion = $0
        } receiveValue: {
          values.append($0)
        }
        cancellable.cancel()
        continuation.resume(returning: (values, completion))
      }
      thread.stackSize = Self.stackSize
      thread.start()
    }
  }

  @Test func appendAfterAppendNeedsNoStack() async {
    var chain = Self.just
    for number in 1...Self.length { chain = chain.append(number).eraseToAnyPublisher() }
    let (values, completion) = await received(from: chain)
    #expect(values == Array(0...Self.length))
    #expect(completion == .finished)
  }

  @Test func prependBeforePrependNeedsNoStack() async {
    var chain = Self.just
    for number in 1...Self.length { chain = chain.prepend(number).eraseToAnyPublisher() }
    let (values, completion) = await received(from: chain)
    #expect(values == (0...Self.length).reversed())
    #expect(completion == .finished)
  }

  @Test func aFailureInALongChainEndsIt() async {
    var chain = Self.failed(7)
    for number in 1...Self.length { chain = chain.append(number).eraseToAnyPublisher() }
    let (values, completion) = await received(from: chain)
    #expect(values.isEmpty)
    #expect(completion == .failure(Oops(number: 7)))
  }

  @Test func aCatchMayCallItself() async {
    func attempt(_ number: Int) -> Numbers {
      number == Self.length
        ? Self.just : Self.failed(number).catch { attempt($0.number + 1) }.eraseToAnyPublisher()
    }
    let (values, completion) = await received(from: attempt(0))
    #expect(values == [0])
    #expect(completion == .finished)
  }

  @Test func aTryCatchMayCallItself() async {
    func attempt(_ number: Int) -> Numbers {
      guard number < Self.length else { return Self.failed(number) }
      return Self.failed(number).tryCatch { attempt($0.number + 1) }
        .mapError { $0 as? Oops ?? Oops(number: -1) }.eraseToAnyPublisher()
    }
    let (values, completion) = await received(from: attempt(0))
    #expect(values.isEmpty)
    #expect(completion == .failure(Oops(number: Self.length)))
  }

  @Test func anAppendedPublisherMayCallItself() async {
    func count(from number: Int) -> Numbers {
      let rest = Deferred { number == Self.length ? Self.failed(number) : count(from: number + 1) }
      return Just(number).setFailureType(to: Oops.self).append(rest).eraseToAnyPublisher()
    }
    let (values, completion) = await received(from: count(from: 0))
    #expect(values == Array(0...Self.length))
    #expect(completion == .failure(Oops(number: Self.length)))
  }

  @Test func operatorsThatFollowEachOtherAreNested() async {
    var chain = Self.just
    for number in 1...Self.length {
      chain =
        switch number % 4 {
        case 0: chain.catch { _ in Self.just }.eraseToAnyPublisher()
        case 1:
          chain.append(Self.failed(number)).replaceError(with: number).setFailureType(to: Oops.self)
            .eraseToAnyPublisher()
        case 2: chain.retry(0).eraseToAnyPublisher()
        default: chain.mapError { Oops(number: $0.number + 1) }.prepend(number).eraseToAnyPublisher()
        }
    }
    let (values, completion) = await received(from: chain)
    let prepended = (1...Self.length).filter { $0 % 4 == 3 }
    let replaced = (1...Self.length).filter { $0 % 4 == 1 }
    #expect(values == prepended.reversed() + [0] + replaced)
    #expect(completion == .finished)
  }

  @Test func manyRetriesFollowEachOther() async {
    var attempts = 0
    let failing = Deferred {
      attempts += 1
      return Self.failed(attempts)
    }
    let (values, completion) = await received(from: failing.retry(20 * Self.length).eraseToAnyPublisher())
    #expect(values.isEmpty)
    #expect(completion == .failure(Oops(number: 20 * Self.length + 1)))
  }

  /// The demand that one publisher leaves is that of the next, through all levels.
  @Test func demandIsHandedOnThroughALongChain() async {
    var chain = Self.just
    for number in 1...100 { chain = chain.append(number).eraseToAnyPublisher() }
    let (values, completion) = await received(
      from: chain.prefix(51).append(Self.failed(3)).eraseToAnyPublisher())
    #expect(values == Array(0...50))
    #expect(completion == .failure(Oops(number: 3)))
  }

  // MARK: - Reports of other libraries' users

  /// RxSwift 2615: publishers that complete at once, and some that are late, one after another.
  @Test func flattenedPublishersOfWhichSomeAreLateNeedNoStack() async {
    let queue = DispatchQueue(label: "late")
    let numbers = (0..<20_000).publisher.setFailureType(to: Oops.self)
      .flatMap(maxPublishers: .max(1)) { number in
        number % 5 == 0
          ? Just(number).receive(on: queue).setFailureType(to: Oops.self).eraseToAnyPublisher()
          : Just(number).setFailureType(to: Oops.self).eraseToAnyPublisher()
      }
      .collect()
    var kept: Set<AnyCancellable> = []
    let values = await withCheckedContinuation { continuation in
      numbers.sink { _ in
      } receiveValue: {
        continuation.resume(returning: $0)
      }.store(in: &kept)
    }
    kept.removeAll()
    #expect(values == Array(0..<20_000))
  }

  /// Composable Architecture 485: in Combine of iOS 13 a failure reached `catch` before its subscription.
  @Test func aFailureThatPrecedesEverythingIsCaught() async {
    let publisher = Self.failed(1).flatMap { _ in Self.just }.zip(Self.just).map { $0 + $1 }
      .catch { Self.failed($0.number + 1) }.retry(2)
    let (values, completion) = await received(from: publisher.eraseToAnyPublisher())
    #expect(values.isEmpty)
    #expect(completion == .failure(Oops(number: 2)))
  }
}
