import Foundation
import MartletCombine
import MartletCombineFoundation

let numbers = PassthroughSubject<Int, Never>()
let onLoop: Publishers.ReceiveOn<PassthroughSubject<Int, Never>, RunLoop> = numbers.receive(on: RunLoop.main)
onLoop.sink { print($0) }.cancel()
print(RunLoop.main.now.advanced(by: .seconds(1)) > RunLoop.main.now)
let dates: Publishers.Autoconnect<Timer.TimerPublisher> = Timer.publish(every: 1, on: .main, in: .common).autoconnect()
dates.sink { print($0) }.cancel()
NotificationCenter.default.publisher(for: Notification.Name("changed")).sink { print($0.name) }.cancel()
