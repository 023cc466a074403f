import MartletInspector

let inspector = try Inspector()
print(inspector.url.absoluteString.isEmpty)
inspector.close()
