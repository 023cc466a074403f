import Dispatch
import Foundation
import MartletCombine
import MartletCombineFoundation
import Testing

/// Names the types that operators return, like code written for Combine.
@Suite(.timeLimit(.minutes(5)))
struct OperatorNameTests {
  typealias Numbers = PassthroughSubject<Int, Oops>
  typealias Safe = Published<Int>.Publisher

  let numbers = Numbers()

  @Test func operatorsOnSingleValuesHaveTheirNames() {
    let mapped: Publishers.Map<Numbers, String> = numbers.map { "\($0)" }
    let path: Publishers.MapKeyPath<Numbers, String> = numbers.map(\.description)
    let tried: Publishers.TryMap<Numbers, Int> = numbers.tryMap { $0 }
    let compact: Publishers.CompactMap<Numbers, Int> = numbers.compactMap { Optional($0) }
    let tryCompact: Publishers.TryCompactMap<Numbers, Int> = numbers.tryCompactMap { Optional($0) }
    let filtered: Publishers.Filter<Numbers> = numbers.filter { $0 > 0 }
    let tryFiltered: Publishers.TryFilter<Numbers> = numbers.tryFilter { $0 > 0 }
    let distinct: Publishers.RemoveDuplicates<Numbers> = numbers.removeDuplicates()
    let scanned: Publishers.Scan<Numbers, Int> = numbers.scan(0, +)
    let error: Publishers.MapError<Numbers, Oops> = numbers.mapError { $0 }
    let replaced: Publishers.ReplaceError<Numbers> = numbers.replaceError(with: 1)
    let typed: Publishers.SetFailureType<Just<Int>, Oops> = Just(1).setFailureType(to: Oops.self)
    let nils: Publishers.Map<PassthroughSubject<Int?, Never>, Int> = PassthroughSubject().replaceNil(with: 1)
    _ = (
      mapped, path, tried, compact, tryCompact, filtered, tryFiltered, distinct, scanned, error, replaced, typed, nils
    )
    let made = Publishers.Map(upstream: [1, 2].publisher, transform: { $0 + 1 })
    #expect(made.all == [2, 3])
    #expect([1, 2].publisher.map(\.description).all == ["1", "2"])
  }

  @Test func operatorsThatCollectHaveTheirNames() {
    let first: Publishers.First<Numbers> = numbers.first()
    let one: Publishers.FirstWhere<Numbers> = numbers.first { $0 > 1 }
    let prefix: Publishers.Output<Numbers> = numbers.prefix(1)
    let rest: Publishers.Drop<Numbers> = numbers.dropFirst()
    let last: Publishers.Last<Numbers> = numbers.last()
    let all: Publishers.Collect<Numbers> = numbers.collect()
    let sum: Publishers.Reduce<Numbers, Int> = numbers.reduce(0, +)
    let count: Publishers.Count<Numbers> = numbers.count()
    let none: Publishers.IgnoreOutput<Numbers> = numbers.ignoreOutput()
    let filled: Publishers.ReplaceEmpty<Numbers> = numbers.replaceEmpty(with: 1)
    _ = (first, one, prefix, rest, last, all, sum, count, none, filled)
    #expect(Publishers.Output(upstream: [1, 2, 3, 4].publisher, range: 1..<3).all == [2, 3])
  }

  @Test func aPrefixOfZeroCompletesImmediately() {
    #expect(numbers.prefix(0).probe(.none).isFinished)
  }

  @Test func operatorsOnSeveralPublishersHaveTheirNames() {
    let other = PassthroughSubject<String, Oops>()
    let zip: Publishers.Zip<Numbers, PassthroughSubject<String, Oops>> = numbers.zip(other)
    let latest: Publishers.CombineLatest<Numbers, Numbers> = Publishers.CombineLatest(numbers, numbers)
    let merged: Publishers.Merge<Numbers, Numbers> = numbers.merge(with: numbers)
    let many: Publishers.MergeMany<Numbers> = Publishers.MergeMany([numbers, numbers])
    let flat: Publishers.FlatMap<Numbers, Numbers> = numbers.flatMap { [numbers] _ in numbers }
    let switched: Publishers.SwitchToLatest<Numbers, Publishers.Map<Numbers, Numbers>> =
      numbers.map { [numbers] _ in numbers }.switchToLatest()
    let appended: Publishers.Concatenate<Numbers, Publishers.Sequence<[Int], Oops>> = numbers.append(1)
    let prepended: Publishers.Concatenate<Publishers.Sequence<[Int], Oops>, Numbers> = numbers.prepend(1)
    let caught: Publishers.Catch<Numbers, Just<Int>> = numbers.catch { Just($0.number) }
    let tryCaught: Publishers.TryCatch<Numbers, Just<Int>> = numbers.tryCatch { Just($0.number) }
    let again: Publishers.Retry<Numbers> = numbers.retry(1)
    _ = (zip, latest, merged, many, flat, switched, appended, prepended, caught, tryCaught, again)

    let (a, b, c, d) = ([1, 2].publisher, ["a", "b"].publisher, [true, false].publisher, [1.5, 2.5].publisher)
    #expect(Publishers.Zip3(a, b, c).map { "\($0)\($1)\($2)" }.all == ["1atrue", "2bfalse"])
    #expect(a.zip(b, c, d).map { "\($0)\($1)\($2)\($3)" }.all == ["1atrue1.5", "2bfalse2.5"])
    #expect(a.zip(b) { "\($0)\($1)" }.all == ["1a", "2b"])
    #expect(Just(1).combineLatest(Just("a"), Just(true)).map { "\($0)\($1)\($2)" }.all == ["1atrue"])
    #expect(Publishers.CombineLatest4(Just(1), Just(2), Just(3), Just(4)).map(\.3).all == [4])
    #expect(Publishers.Merge3(Just(1), Just(2), Just(3)).all == [1, 2, 3])
    #expect(Just(1).merge(with: Just(2), Just(3), Just(4)).all == [1, 2, 3, 4])
  }

  @Test func operatorsThatScheduleOrShareHaveTheirNames() {
    let queue = DispatchQueue.main
    let onQueue: Publishers.ReceiveOn<Numbers, DispatchQueue> = numbers.receive(on: DispatchQueue.main)
    let onLoop: Publishers.ReceiveOn<Numbers, RunLoop> = numbers.receive(on: RunLoop.main)
    let subscribed: Publishers.SubscribeOn<Numbers, DispatchQueue> = numbers.subscribe(on: queue)
    let delayed: Publishers.Delay<Numbers, RunLoop> = numbers.delay(for: 1.5, scheduler: RunLoop.main)
    let limited: Publishers.Timeout<Numbers, DispatchQueue> = numbers.timeout(.seconds(1), scheduler: queue)
    let debounced: Publishers.Debounce<Numbers, RunLoop> = numbers.debounce(for: .seconds(0.5), scheduler: RunLoop.main)
    let throttled: Publishers.Throttle<Numbers, DispatchQueue> =
      numbers.throttle(for: .milliseconds(200), scheduler: queue, latest: true)
    let shared: Publishers.Share<Numbers> = numbers.share()
    let cast: Publishers.Multicast<Numbers, Numbers> = numbers.multicast { PassthroughSubject() }
    let auto: Publishers.Autoconnect<Publishers.Multicast<Numbers, Numbers>> = cast.autoconnect()
    let printed: Publishers.Print<Numbers> = numbers.print()
    let watched: Publishers.HandleEvents<Numbers> = numbers.handleEvents()
    let decoded: Publishers.Decode<Just<Data>, [Int], JSONDecoder> = Just(Data()).decode(
      type: [Int].self, decoder: JSONDecoder())
    let encoded: Publishers.Encode<Just<[Int]>, JSONEncoder> = Just([1]).encode(encoder: JSONEncoder())
    _ = (onQueue, onLoop, subscribed, delayed, limited, debounced, throttled, shared, cast, auto, printed, watched)
    #expect(decoded.probe().failure is DecodingError)
    #expect(encoded.all == [Data("[1]".utf8)])
  }

  final class Form: ObservableObject {
    @Published var name = ""
    @Published var age = 0
    var isValid: Publishers.Map<Publishers.CombineLatest<Published<String>.Publisher, Safe>, Bool> {
      $name.combineLatest($age).map { !$0.isEmpty && $1 > 17 }
    }
  }

  @Test func returnedTypeCanBeWrittenOut() {
    let form = Form()
    let probe = form.isValid.removeDuplicates().probe()
    form.name = "Ada"
    form.age = 36
    #expect(probe.values == [false, true])
  }
}
