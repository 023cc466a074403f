import SAPCommon

Logger.shared(named: "Consumer").error("The order failed.")
