import Foundation
import MartletCombine
import MartletCombineFoundation

let numbers = PassthroughSubject<Int, Never>()
let onLoop: Publishers.ReceiveOn<PassthroughSubject<Int, Never>, RunLoop> = numbers.receive(on: RunLoop.main)
onLoop.sink { print($0) }.cancel()
print(RunLoop.main.now.advanced(by: .seconds(1)) > RunLoop.main.now)
