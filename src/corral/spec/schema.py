"""The cluster file's JSON schema, with which editors complete keys and underline mistakes."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from corral.spec.model import ClusterSpec


def json_schema() -> dict[str, Any]:
    """The schema of everything that one field alone can get right or wrong; rules are left to `corral`."""
    return ClusterSpec.model_json_schema(schema_generator=_FileSchema)


class _FileSchema(GenerateJsonSchema):
    """Describes the file as the loader reads it, which is a little more than the models take."""

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        result = super().generate(schema, mode)
        return {"$schema": self.schema_dialect, **result, "title": "Corral cluster file"}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Keys must fit their pattern: by default, a key that does not would be free to hold anything."""
        keys = self.generate_inner(schema["keys_schema"])
        result = super().dict_schema(schema)
        result.pop("patternProperties", None)
        result["propertyNames"] = keys
        result["additionalProperties"] = self.generate_inner(schema["values_schema"])
        return result if "minProperties" in result else {**result, "type": ["object", "null"]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A bare `node1:` is an empty section to the loader, unless the section has keys that it needs."""
        result = super().model_schema(schema)
        return result if "required" in result else {**result, "type": ["object", "null"]}

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        """A number may stand where its digits are a valid name: `max_time: 60`."""
        result = super().str_schema(schema)
        if "pattern" in result and re.search(result["pattern"], "60"):
            result["type"] = ["string", "number"]
        return result
