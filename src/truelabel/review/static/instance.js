// Showing an instance. What comes from the data is only ever put in as text, never as markup.

export function made(kind, name, text) {
  const element = document.createElement(kind);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

export async function loadImage(image, row, size) {
  image.alt = size === "large" ? "The instance" : "";
  image.src = `image/${row}/${size}`;
  try {
    await image.decode();
    return image;
  } catch {
    return made("p", "lost", "This image cannot be read.");
  }
}

export function readable(kind, fields) {
  if (kind === "row") {
    const table = made("table");
    const body = table.createTBody();
    for (const [name, text] of fields) {
      const line = body.insertRow();
      const head = made("th", "", name);
      head.scope = "row";
      line.append(head, made("td", "", text));
    }
    return table;
  }
  if (kind === "name") return made("p", "name", fields.map(([, text]) => text).join(" "));
  const length = fields.reduce((sum, [, text]) => sum + text.length, 0);
  const box = made("div", length < 240 ? "text short" : "text");
  for (const [name, text] of fields) {
    if (fields.length > 1) box.append(made("h3", "", name));
    box.append(made("p", "", text));
  }
  return box;
}
