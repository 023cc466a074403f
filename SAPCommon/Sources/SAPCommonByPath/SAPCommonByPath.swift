@_exported import SAPCommon
