import Foundation
import MartletCombine
import MartletCombineFoundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ObservableObjectTests {
  private class Model: ObservableObject {
    @Published var title = "a"
    @Published var count = 0
  }

  private final class LongModel: Model {
    @Published var text = ""
  }

  @Test func objectWillChangeComesBeforeTheValueAndTheValueBeforeTheProperty() {
    let model = Model()
    let seen = Log<String>()
    var kept: Set<AnyCancellable> = []
    model.objectWillChange.sink { seen.append("will change from \(model.title)") }.store(in: &kept)
    model.$title.dropFirst().sink { seen.append("\($0) while it is \(model.title)") }.store(in: &kept)

    model.title = "b"

    #expect(seen.entries == ["will change from a", "b while it is a"])
    #expect(model.title == "b")
    kept.removeAll()
  }

  @Test func everyPublishedPropertyNotifiesTheSamePublisher() {
    let model = LongModel()
    let willChange = model.objectWillChange
    let probe = willChange.probe()

    model.title = "b"
    model.count += 1
    model.text = "c"

    #expect(probe.values.count == 3)
    #expect(model.objectWillChange === willChange)
    #expect(LongModel().objectWillChange !== willChange)
  }

  @Test func anObjectWithoutPublishedPropertiesNotifiesExplicitly() {
    final class Plain: ObservableObject {
      var name = "" { willSet { objectWillChange.send() } }
    }
    let plain = (0..<200).map { _ in Plain() }
    let probes = plain.map { $0.objectWillChange.probe() }

    for object in plain { object.name = "b" }

    #expect(probes.allSatisfy { $0.values.count == 1 })
  }

  @Test func anObjectWhoseMirrorHidesItsPropertiesNotifies() {
    final class Secretive: ObservableObject, CustomReflectable {
      @Published var title = "a"
      @Published var count = 0
      var customMirror: Mirror { Mirror(self, children: [:]) }
    }
    let secretive = Secretive()
    secretive.title = "before anybody asks"
    let probe = secretive.objectWillChange.probe()

    secretive.title = "b"
    secretive.count = 1
    secretive.count = 2

    #expect(probe.values.count == 3)
  }

  @Test func settingTheProjectedValueHasNoEffect() {
    let (one, other) = (Model(), Model())
    other.title = "other"

    one.$title = other.$title
    one.title = "b"

    #expect(one.title == "b" && other.title == "other")
  }

  @Test func aCustomPublisherIsNotifiedExplicitlyOnly() {
    final class Manual: ObservableObject {
      let objectWillChange = PassthroughSubject<Void, Never>()
      @Published var title = "a"
    }
    let manual = Manual()
    let probe = manual.objectWillChange.probe()

    manual.title = "b"
    #expect(probe.values.isEmpty)
    manual.objectWillChange.send()
    #expect(probe.values.count == 1)
  }

  @Test func aNewSubscriberReceivesTheCurrentValueFirst() {
    let model = Model()
    model.title = "b"
    #expect(model.$title.probe().values == ["b"])

    let slow = model.$title.probe(.none)
    model.title = "c"
    model.title = "d"
    slow.subscription?.request(.max(1))
    #expect(slow.values == ["d"])
  }

  @Test func assigningNotifiesLikeSettingTheProperty() {
    let model = Model()
    let willChange = model.objectWillChange.probe()
    let subject = PassthroughSubject<String, Never>()
    subject.assign(to: &model.$title)

    subject.send("b")
    #expect(model.title == "b")
    Just("c").assign(to: &model.$title)

    #expect(model.title == "c")
    #expect(willChange.values.count == 2)
    #expect(model.$title.probe().values == ["c"])
  }

  @Test func anAssignmentEndsWithThePropertyAndRetainsNothing() {
    let subject = PassthroughSubject<String, Never>()
    let cancels = Log<Int>()
    weak var released: Model?
    do {
      let model = Model()
      released = model
      subject.handleEvents(receiveCancel: { cancels.append(1) }).assign(to: &model.$title)
      model.$title.map(\.count).retry(1).assign(to: &model.$count)
      subject.send("long")
      #expect(model.count == 4)
      #expect(cancels.entries == [])
    }

    #expect(released == nil)
    #expect(cancels.entries == [1])
  }

  @Test func allValuesSetOnManyThreadsAreDelivered() async {
    let subject = CurrentValueSubject<Int, Never>(0)
    for _ in 0..<50 {
      let probe = Shared(subject.probe())
      await withTaskGroup(of: Void.self) { group in
        for number in 1...20 { group.addTask { subject.send(number) } }
      }
      #expect(probe.probe.values.count == 21)
      #expect(probe.probe.values.last == subject.value)
      probe.probe.subscription?.cancel()
      subject.send(0)
    }
  }

  private struct Shared: @unchecked Sendable {
    // SAFETY: read after the threads have ended.
    let probe: Probe<Int, Never>
    init(_ probe: Probe<Int, Never>) { self.probe = probe }
  }
}

/// A typical model of a view, with published properties that are set by publishers.
@Suite(.timeLimit(.minutes(5)))
struct ViewModelShapeTests {
  struct Item: Decodable, Equatable { let title: String }

  /// Returns the response of a session.
  static func load(_ query: String) -> AnyPublisher<Data, any Error> {
    Just(Data(#"[{"title": "\#(query)"}]"#.utf8)).setFailureType(to: (any Error).self).eraseToAnyPublisher()
  }

  final class SearchModel: ObservableObject {
    @Published var query = ""
    @Published private(set) var items: [Item] = []
    @Published private(set) var message: String?
    private var cancellables = Set<AnyCancellable>()

    init(scheduler: some Scheduler) {
      $query
        .debounce(for: .milliseconds(300), scheduler: scheduler)
        .removeDuplicates()
        .filter { !$0.isEmpty }
        .map { query in
          load(query).decode(type: [Item].self, decoder: JSONDecoder()).catch { _ in Just([]) }
        }
        .switchToLatest()
        .receive(on: scheduler)
        .assign(to: &$items)
      Publishers.CombineLatest($query, $items)
        .map { query, items in items.isEmpty && !query.isEmpty ? "Nothing for \(query)." : nil }
        .sink { [weak self] in self?.message = $0 }
        .store(in: &cancellables)
    }
  }

  @Test func typingCausesOneSearch() {
    let scheduler = ManualScheduler()
    let model = SearchModel(scheduler: scheduler)
    let changes = model.objectWillChange.probe()

    for query in ["s", "sh", "shoes"] { model.query = query }
    #expect(model.message == "Nothing for shoes.")
    scheduler.advance(by: .seconds(1))

    #expect(model.items == [Item(title: "shoes")])
    #expect(model.message == nil)
    #expect(changes.values.count == 8)
  }

  @MainActor
  final class PictureModel: ObservableObject {
    @Published var picture: Data?
    @Published var isLoading = false
    private var cancellables = Set<AnyCancellable>()

    func load() {
      isLoading = true
      ViewModelShapeTests.load("sunset")
        .map { Optional($0) }
        .replaceError(with: nil)
        .receive(on: RunLoop.main)
        .handleEvents(receiveCompletion: { [weak self] _ in self?.isLoading = false })
        .assign(to: \.picture, on: self)
        .store(in: &cancellables)
    }

    func loadAgain() {
      ViewModelShapeTests.load("again")
        .receive(on: DispatchQueue.main)
        .replaceError(with: Data())
        .map { $0 as Data? }
        .assign(to: &$picture)
    }
  }

  @MainActor @Test func theImageIsDeliveredOnTheMainRunLoop() async {
    let model = PictureModel()
    let pictures = model.$picture.compactMap { $0 }.values
    model.load()
    for await picture in pictures {
      #expect(String(decoding: picture, as: UTF8.self).contains("sunset"))
      break
    }
    let others = model.$picture.compactMap { $0 }.values
    model.loadAgain()
    for await picture in others where String(decoding: picture, as: UTF8.self).contains("again") { break }
  }
}
