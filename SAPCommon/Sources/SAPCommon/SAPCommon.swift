@_exported import SAPFoundation
