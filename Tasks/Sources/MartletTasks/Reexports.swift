// One import for everything that code with tasks uses: requests and errors of the engine, publishers.
@_exported public import Martlet
@_exported public import MartletCombine
