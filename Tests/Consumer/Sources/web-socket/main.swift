import MartletWebSocket

var options = WebSocket.Options()
options.maximumMessageSize = 16 << 20
print(WebSocket.CloseCode.normalClosure, options.compression == nil)
