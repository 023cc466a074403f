import SAPFoundation

// error: inheritance from a final class 'CSRFTokenObserver'
class Tokens: CSRFTokenObserver {}
