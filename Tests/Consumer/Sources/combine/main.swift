import Dispatch
import MartletCombine

final class Model: ObservableObject {
  @Published var number = 0
  @Published private(set) var text = ""

  init() {
    $number.map { "\($0)" }.assign(to: &$text)
  }
}

let numbers = PassthroughSubject<Int, Never>()
let model = Model()
let subscription = model.objectWillChange.sink { print("\(model.number) changes") }
numbers.map { $0 * 2 }.assign(to: &model.$number)
numbers.send(21)
print(model.text)
subscription.cancel()
let later: Publishers.Debounce<Published<String>.Publisher, DispatchQueue> =
  model.$text.debounce(for: .milliseconds(300), scheduler: DispatchQueue.main)
later.sink { print($0) }.cancel()
