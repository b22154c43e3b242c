// Draws the charts of a report's page, light or dark as the reader's system is.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const specs = JSON.parse(document.getElementById("charts").textContent);

function draw(place) {
  const spec = structuredClone(specs[place.dataset.chart]);
  if (place.dataset.field) {
    spec.encoding.x.field = place.dataset.field;
    spec.encoding.x.title = spec.usermeta.axes[place.dataset.field];
  }
  // On a narrow screen names beside the axis would leave no room for the picture.
  if (place.clientWidth < 500) spec.config = {axis: {labelLimit: 110}, legend: {columns: 1}};
  vegaEmbed(place, spec, {
    renderer: "svg", theme: dark.matches ? "dark" : undefined, config: {background: "transparent"},
    actions: {export: true, source: false, compiled: false, editor: false},
  }).catch((error) => { place.textContent = `This chart cannot be drawn: ${error}`; });
}

// Buttons that choose what the x axis shows.
function addButtons(place) {
  const axes = specs[place.dataset.chart].usermeta?.axes;
  if (!axes) return;
  const row = document.createElement("div");
  row.className = "axes";
  for (const [field, title] of Object.entries(axes)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    button.setAttribute("aria-pressed", String(field === "step"));
    button.addEventListener("click", () => {
      for (const other of row.children) other.setAttribute("aria-pressed", String(other === button));
      place.dataset.field = field;
      draw(place);
    });
    row.append(button);
  }
  place.before(row);
}

const places = [...document.querySelectorAll(".chart")];
for (const place of places) {
  addButtons(place);
  draw(place);
}
dark.addEventListener("change", () => places.forEach(draw));
