import MartletWebSocket

var options = WebSocket.Options()
options.messageLimit = 16 << 20
print(WebSocket.CloseCode.normalClosure, options.compression == nil)
