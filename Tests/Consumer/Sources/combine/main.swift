import MartletCombine

let numbers = PassthroughSubject<Int, Never>()
let subscription = numbers.map { $0 * 2 }.sink { print($0) }
numbers.send(21)
subscription.cancel()
