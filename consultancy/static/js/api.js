"use strict";
// The page of the API: Swagger UI over the site's own schema, with the session of the reader.
const page = document.getElementById("api-docs");
SwaggerUIBundle({
  url: page.dataset.schema,
  domNode: page,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    const token = JSON.parse(document.body.getAttribute("hx-headers") || "{}");
    Object.assign(request.headers, token);
    return request;
  },
});
