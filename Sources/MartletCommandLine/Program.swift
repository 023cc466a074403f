import Martlet
