@_exported import MartletCombine
@_exported import MartletCombineFoundation
