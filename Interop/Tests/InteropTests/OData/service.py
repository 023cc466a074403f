"""A service of odatapy, an implementation of OData 4.01 after Apache Olingo, in memory: the data of ODataServerTests."""
import sys
from decimal import Decimal
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from odatapy.data import Entity, ValueType
from odatapy.edm.csdl import (
    CsdlAbstractEdmProvider, CsdlEntityContainer, CsdlEntitySet, CsdlEntityType, CsdlNavigationProperty,
    CsdlNavigationPropertyBinding, CsdlProperty, CsdlPropertyRef, CsdlSchema)
from odatapy.server import OData
from odatapy.server.adapters import ODataWSGIApp
from odatapy.server.inmemory import InMemoryDataStore, InMemoryProcessor

NUMBER = [("ID", "Edm.Int32", {"nullable": False})]
PRODUCT = NUMBER + [
    ("Name", "Edm.String", {}), ("Price", "Edm.Decimal", {"precision": 34, "scale": 18}), ("Big", "Edm.Int64", {}),
    ("At", "Edm.DateTimeOffset", {"precision": 6}), ("Day", "Edm.Date", {}), ("Clock", "Edm.TimeOfDay", {"precision": 3}),
    ("Length", "Edm.Duration", {"precision": 3}), ("Key", "Edm.Guid", {}), ("Bytes", "Edm.Binary", {})]


def entity_type(name, properties, **options):
    return CsdlEntityType(name=name, key=[CsdlPropertyRef(name="ID")], properties=[
        CsdlProperty(name=n, type=t, **o) for n, t, o in properties], **options)


class Provider(CsdlAbstractEdmProvider):
    def get_schemas(self):
        parts = CsdlNavigationProperty(name="Parts", type="Collection(Demo.Part)")
        types = [
            entity_type("Product", PRODUCT, navigation_properties=[parts]),
            entity_type("Part", NUMBER + [("Name", "Edm.String", {})]),
            entity_type("Picture", NUMBER + [("Name", "Edm.String", {})], has_stream=True)]
        sets = [
            CsdlEntitySet(name="Products", type="Demo.Product", navigation_property_bindings=[
                CsdlNavigationPropertyBinding(path="Parts", target="Parts")]),
            CsdlEntitySet(name="Parts", type="Demo.Part"), CsdlEntitySet(name="Pictures", type="Demo.Picture")]
        return [CsdlSchema(namespace="Demo", entity_types=types, entity_container=CsdlEntityContainer(
            name="Container", entity_sets=sets))]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    odata = OData.new_instance()
    handler = odata.create_handler(odata.create_service_metadata(Provider()))
    store = InMemoryDataStore()
    products = []
    for number in range(1, 8):
        product = Entity()
        product.set_property("ID", number, ValueType.PRIMITIVE, "Edm.Int32")
        product.set_property("Name", f"Product {number}", ValueType.PRIMITIVE, "Edm.String")
        product.set_property("Price", Decimal("0.123456789012345678") * number, ValueType.PRIMITIVE, "Edm.Decimal")
        products.append(product)
    store.set_entities("Products", products)
    store.set_entities("Parts", [])
    store.set_entities("Pictures", [])
    handler.register(InMemoryProcessor(store))
    make_server("127.0.0.1", int(sys.argv[1]), ODataWSGIApp(handler), Server, Handler).serve_forever()
